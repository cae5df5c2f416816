package chatops

import (
	"context"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/operator"
)

// listed is how many conversations are told of.
const listed = 20

// status tells what waits in the channel and its threads, and what keeps the bot silent.
func (d *Desk) status(ctx context.Context, r request) (text, result string) {
	settings := d.Directory.Settings(ctx, r.here.Team, r.here.Channel)
	now := d.Clock()
	until, err := d.Store.SilencedUntil(ctx, r.here)
	if err != nil {
		return d.broken(ctx, r, "status", err)
	}
	budget, err := d.budget(ctx, r.here, settings)
	if err != nil {
		return d.broken(ctx, r, "status", err)
	}
	waiting, result := d.waiting(ctx, r, settings.Zone)
	silent := d.silence(until, now, settings.Zone)
	lines := []string{waiting, silent}
	if silent != "" {
		why, err := d.moved(ctx, r.here)
		if err != nil {
			return d.broken(ctx, r, "status", err)
		}
		lines = append(lines, why)
	}
	if settings.Mode != config.ModeJudge {
		lines = append(lines, d.say("My mode here is `%s`.", settings.Mode))
	}
	if settings.InQuietHours(now) {
		lines = append(lines, d.say("These are my quiet hours: I answer only who addresses me."))
	}
	lines = append(lines, budget)
	return strings.Join(compact(lines), "\n"), result
}

// moved tells where the channel's silence comes from its having another id now; else it is empty.
func (d *Desk) moved(ctx context.Context, c chat.Conversation) (string, error) {
	order, err := d.Store.LatestSilenceOrder(ctx, c)
	from := order.MovedFrom()
	switch {
	case err != nil || from == "":
		return "", err
	case d.Config.LeavesSettingsBehind(from, c.Channel):
		return d.say("That is since Slack has given this channel another id: my settings for it stand under the old one, `%s`. "+
			"Whoever runs me has to move them to `%s`.", from, c.Channel), nil
	}
	return d.say("That is since Slack has given this channel another id; the old one was `%s`.", from), nil
}

func compact(lines []string) (full []string) {
	for _, line := range lines {
		if line != "" {
			full = append(full, line)
		}
	}
	return full
}

// waiting is what waits, a line each.
func (d *Desk) waiting(ctx context.Context, r request, zone *time.Location) (text, result string) {
	if err := d.Reach(ctx); err != nil {
		return d.say(away + " What waits I cannot tell now."), failed
	}
	all, err := d.Operator.Conversations(ctx, operator.Filter{
		Team: r.here.Team, Channel: r.here.Channel, Limit: listed,
		Phases: []conversation.Phase{conversation.Waiting, conversation.Judging, conversation.Delaying, conversation.Replying},
	})
	if err != nil {
		d.Logger.WarnContext(ctx, "what waits is not known", "conversation", r.here.ID(), "error", err)
		return d.say("What waits I cannot tell now: Temporal did not say."), failed
	}
	var lines []string
	for _, l := range all {
		lines = append(lines, "• "+d.place(l.Conversation, r.own.URL, zone)+": "+d.phase(l, zone))
	}
	if len(lines) == 0 {
		return d.say("Nothing waits here."), done
	}
	return strings.Join(lines, "\n"), done
}

// place is a conversation in words, with a link to a thread's parent where the workspace's
// address is known.
func (d *Desk) place(c chat.Conversation, workspace string, zone *time.Location) string {
	if c.TopLevel() {
		return d.say("Top level")
	}
	when := chat.Time(c.Thread)
	if workspace == "" {
		return d.say("Thread of %s", moment(when, zone))
	}
	// docs.slack.dev/reference/methods/chat.getPermalink
	link := workspace + "archives/" + c.Channel + "/p" + strings.ReplaceAll(c.Thread, ".", "")
	return "<" + link + "|" + d.say("Thread of %s", when.In(zone).Format("2006-01-02 15:04:05")) + ">"
}

func (d *Desk) phase(l operator.Listed, zone *time.Location) string {
	var what string
	switch l.Phase {
	case conversation.Waiting:
		what = d.say("I wait for it to be quiet, and judge at %s", moment(l.DueAt, zone))
	case conversation.Judging:
		what = d.say("I judge whether to say something")
	case conversation.Delaying:
		what = d.say("I mean to answer, and hold it back until %s", moment(l.DueAt, zone))
	case conversation.Replying:
		what = d.say("I am answering")
	case operator.Paused:
		return d.say("somebody has paused me in Temporal")
	default:
		return d.say("does not tell where it stands")
	}
	if l.Pending != nil && *l.Pending > 1 {
		what += d.say(" (%d messages)", *l.Pending)
	}
	return d.say("%s, since %s", what, moment(l.Since, zone))
}

// budget is what today has cost, of what it may; empty where nothing bounds it.
func (d *Desk) budget(ctx context.Context, c chat.Conversation, s config.ChannelSettings) (string, error) {
	if !s.HasBudget() {
		return "", nil
	}
	calls, tokens, err := d.Store.Spent(ctx, c.Team, c.Channel, s.StartOfDay(d.Clock()))
	if err != nil {
		return "", err
	}
	text := d.say("Today, %s and %s of models.", d.of(calls, s.DailyCalls, "calls"), d.of(tokens, s.DailyTokens, "tokens"))
	if s.Exhausted(calls, tokens) {
		text += " " + d.say("That is all for today: I judge nothing more, and answer nobody until tomorrow.")
	}
	return text, nil
}

// of is how much of something is spent, calls or tokens.
func (d *Desk) of(spent, most int, what string) string {
	if most == 0 {
		return d.say("%d "+what, spent)
	}
	return d.say("%d of %d "+what, spent, most)
}
