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

// maxConversations is how many conversations are told of.
const maxConversations = 20

// status tells what waits in the channel and its threads, and what keeps the bot silent.
func (d *Handler) status(ctx context.Context, r request) (text, result string) {
	settings := d.Directory.Settings(ctx, r.conversation.Team, r.conversation.Channel)
	now := d.Clock()
	until, err := d.Store.SilencedUntil(ctx, r.conversation)
	if err != nil {
		return d.internalError(ctx, r, "status", err)
	}
	budget, err := d.budgetText(ctx, r.conversation, settings)
	if err != nil {
		return d.internalError(ctx, r, "status", err)
	}
	waiting, result := d.waitingText(ctx, r, settings.Zone)
	silent := d.silenceText(until, now, settings.Zone)
	lines := []string{waiting, silent}
	if silent != "" {
		why, err := d.movedNotice(ctx, r.conversation)
		if err != nil {
			return d.internalError(ctx, r, "status", err)
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
	return strings.Join(nonEmpty(lines), "\n"), result
}

// movedNotice tells where the channel's silence comes from its having another id now; else it is empty.
func (d *Handler) movedNotice(ctx context.Context, c chat.Conversation) (string, error) {
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

func nonEmpty(lines []string) (full []string) {
	for _, line := range lines {
		if line != "" {
			full = append(full, line)
		}
	}
	return full
}

// waitingText is what waits, a line each.
func (d *Handler) waitingText(ctx context.Context, r request, zone *time.Location) (text, result string) {
	if err := d.CheckTemporal(ctx); err != nil {
		return d.say(noTemporal + " What waits I cannot tell now."), failed
	}
	all, err := d.Operator.Conversations(ctx, operator.Filter{
		Team: r.conversation.Team, Channel: r.conversation.Channel, Limit: maxConversations,
		Phases: []conversation.Phase{conversation.Waiting, conversation.Judging, conversation.Delaying, conversation.Replying},
	})
	if err != nil {
		d.Logger.WarnContext(ctx, "what waits is not known", "conversation", r.conversation.ID(), "error", err)
		return d.say("What waits I cannot tell now: Temporal did not say."), failed
	}
	var lines []string
	for _, l := range all {
		lines = append(lines, "• "+d.conversationLabel(l.Conversation, r.own.URL, zone)+": "+d.phaseText(l, zone))
	}
	if len(lines) == 0 {
		return d.say("Nothing waits here."), done
	}
	return strings.Join(lines, "\n"), done
}

// conversationLabel is a conversation in words, with a link to a thread's parent where the workspace's
// address is known.
func (d *Handler) conversationLabel(c chat.Conversation, workspace string, zone *time.Location) string {
	if c.TopLevel() {
		return d.say("Top level")
	}
	when := chat.Time(c.Thread)
	if workspace == "" {
		return d.say("Thread of %s", slackTime(when, zone))
	}
	// docs.slack.dev/reference/methods/chat.getPermalink
	link := workspace + "archives/" + c.Channel + "/p" + strings.ReplaceAll(c.Thread, ".", "")
	return "<" + link + "|" + d.say("Thread of %s", when.In(zone).Format("2006-01-02 15:04:05")) + ">"
}

func (d *Handler) phaseText(l operator.Listed, zone *time.Location) string {
	var what string
	switch l.Phase {
	case conversation.Waiting:
		what = d.say("I wait for it to be quiet, and judge at %s", slackTime(l.DueAt, zone))
	case conversation.Judging:
		what = d.say("I judge whether to say something")
	case conversation.Delaying:
		what = d.say("I mean to answer, and hold it back until %s", slackTime(l.DueAt, zone))
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
	return d.say("%s, since %s", what, slackTime(l.Since, zone))
}

// budgetText is what today has cost, of what it may; empty where nothing bounds it.
func (d *Handler) budgetText(ctx context.Context, c chat.Conversation, s config.ChannelSettings) (string, error) {
	if !s.HasBudget() {
		return "", nil
	}
	calls, tokens, err := d.Store.Spent(ctx, c.Team, c.Channel, s.StartOfDay(d.Clock()))
	if err != nil {
		return "", err
	}
	text := d.say("Today, %s and %s of models.", d.spentText(calls, s.DailyCalls, "calls"), d.spentText(tokens, s.DailyTokens, "tokens"))
	if s.Exhausted(calls, tokens) {
		text += " " + d.say("That is all for today: I judge nothing more, and answer nobody until tomorrow.")
	}
	return text, nil
}

// spentText is how much of something is spent, calls or tokens.
func (d *Handler) spentText(spent, most int, what string) string {
	if most == 0 {
		return d.say("%d "+what, spent)
	}
	return d.say("%d of %d "+what, spent, most)
}
