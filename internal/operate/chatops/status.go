package chatops

import (
	"context"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/operate/operator"
	"myao/internal/store"
)

// maxConversations bounds how many conversations are listed.
const maxConversations = 20

// status lists what is waiting in the channel and its threads, and what keeps the bot silent.
func (h *Handler) status(ctx context.Context, r request) (text, result string) {
	settings := h.Directory.Settings(ctx, r.conversation.Team, r.conversation.Channel)
	clock := h.Clock()
	now, err := h.Store.Situation(ctx, store.SituationRequest{
		Now: clock, Conversations: []chat.Conversation{r.conversation},
		Open: store.ChoiceFilter{Team: r.conversation.Team, Channel: r.conversation.Channel, Limit: maxRead},
	})
	if err != nil {
		return h.internalError(ctx, r, "status", err)
	}
	budget, err := h.budgetText(ctx, r, settings)
	if err != nil {
		return h.internalError(ctx, r, "status", err)
	}
	promised, _, err := h.seen(ctx, r, now.Promises)
	if err != nil {
		return h.internalError(ctx, r, "status", err)
	}
	waiting, problem := h.waiting(ctx, r.conversation.Team, []string{r.conversation.Channel}, maxConversations)
	lines, result := []string{problem}, done
	switch {
	case problem != "":
		result = failed
	case len(waiting) == 0:
		lines = []string{h.say("Nothing is waiting here.")}
	}
	line := func(in chat.Conversation, what string) {
		lines = append(lines, "• "+h.conversationLabel(in, r.own.URL, settings.Zone)+": "+what)
	}
	silent := now.Silences[r.conversation.ID()]
	for _, l := range waiting {
		line(l.Conversation, h.phaseText(l, now.Silences, settings.Zone))
	}
	for _, p := range now.Proposals[:min(len(now.Proposals), maxConversations)] {
		line(p.Conversation(), h.proposalText(p, settings.Zone))
	}
	lines = append(lines, h.promisedText(r, promised), h.mutedText(now.Muted, r.Name, settings.Zone))
	if !silent.IsZero() {
		why, err := h.movedNotice(ctx, r.conversation)
		if err != nil {
			return h.internalError(ctx, r, "status", err)
		}
		lines = append(lines, h.silenceText(silent, clock, settings.Zone), why)
	}
	if settings.Mode != config.ModeJudge {
		lines = append(lines, h.say("My mode here is `%s`.", settings.Mode))
	}
	if settings.InQuietHours(clock) {
		lines = append(lines, h.say("These are my quiet hours: I answer only when addressed."))
	}
	lines = append(lines, budget)
	return strings.Join(nonEmpty(lines), "\n"), result
}

// mutedText tells of a mute of the whole workspace; "" if there is none.
func (h *Handler) mutedText(o *store.Order, command string, zone *time.Location) string {
	if o == nil {
		return ""
	}
	return h.say("I am muted in the whole workspace since %s, until an operator types `%s go`.", slackTime(o.At, zone),
		quoted(command))
}

// silenceText tells until when the bot is silent. It is empty when the bot is not silent.
func (h *Handler) silenceText(until, now time.Time, zone *time.Location) string {
	switch {
	case !until.After(now):
		return ""
	case until.Sub(now) > conversation.MaxSnooze:
		return h.say("I am muted here until somebody types `unmute`.")
	}
	return h.say("I am silent here until %s.", slackTime(until, zone))
}

// movedNotice explains a silence that began because Slack gave the channel another id. It is
// empty for any other silence.
func (h *Handler) movedNotice(ctx context.Context, c chat.Conversation) (string, error) {
	order, err := h.Store.LatestSilenceOrder(ctx, c)
	from := order.MovedFrom()
	switch {
	case err != nil || from == "":
		return "", err
	case h.Config.LeavesSettingsBehind(from, c.Channel):
		return h.say("The reason: Slack gave this channel another id, and my settings for it are still under the old "+
			"one, `%s`. "+
			"An operator must move them to `%s`.", from, c.Channel), nil
	}
	return h.say("The reason: Slack gave this channel another id. The old id was `%s`.", from), nil
}

func nonEmpty(lines []string) (full []string) {
	for _, line := range lines {
		if line != "" {
			full = append(full, line)
		}
	}
	return full
}

// waiting are the conversations of some channels in which something waits. problem says why that is not known.
func (h *Handler) waiting(
	ctx context.Context, team string, channels []string, limit int,
) (all []operator.Listed, problem string) {
	if err := h.CheckTemporal(ctx); err != nil {
		return nil, h.say(noTemporal + " I cannot tell what is waiting.")
	}
	all, err := h.Operator.Conversations(ctx, operator.Filter{
		Team: team, Channels: channels, Limit: limit,
		Phases: []conversation.Phase{conversation.Waiting, conversation.Judging, conversation.Delaying,
			conversation.Replying},
	})
	if err != nil {
		h.Logger.WarnContext(ctx, "what waits is not known", "team", team, "channels", len(channels), "error", err)
		return nil, h.say("I cannot tell what is waiting: Temporal gave no answer.")
	}
	return all, ""
}

// proposalText is a proposal that may still come to something, without its input.
func (h *Handler) proposalText(p store.Proposal, zone *time.Location) string {
	if p.State == store.ProposalOpen {
		return h.say("I propose `%s`, which <@%s> or an operator may decide about until %s", quoted(p.Tool), p.Asker,
			slackTime(p.Lapses(), zone))
	}
	return h.say("I was told to do `%s`, which is under way", quoted(p.Tool))
}

// conversationLabel names a conversation. A thread's label links to its parent message if the
// address of the workspace is known.
func (h *Handler) conversationLabel(c chat.Conversation, workspace string, zone *time.Location) string {
	if c.TopLevel() {
		return h.say("Top level")
	}
	when := chat.Time(c.Thread)
	if workspace == "" {
		return h.say("Thread of %s", slackTime(when, zone))
	}
	return "<" + chat.Link(workspace, c.Channel, c.Thread, "") + "|" + h.say("Thread of %s", when.In(zone).
		Format("2006-01-02 15:04:05")) + ">"
}

// phaseText says what the bot does in a conversation, and whether it is silent there for longer than in its channel.
func (h *Handler) phaseText(l operator.Listed, channels store.Silences, zone *time.Location) string {
	var what string
	switch l.Phase {
	case conversation.Waiting:
		what = h.say("I wait for quiet and decide at %s", slackTime(l.DueAt, zone))
	case conversation.Judging:
		what = h.say("I am deciding whether to speak")
	case conversation.Delaying:
		what = h.say("I plan to answer at %s", slackTime(l.DueAt, zone))
	case conversation.Replying:
		what = h.say("I am answering")
	case operator.Paused:
		return h.say("somebody has paused me in Temporal")
	default:
		return h.say("its state is not known")
	}
	if l.Pending != nil && *l.Pending > 1 {
		what += h.say(" (%d messages)", *l.Pending)
	}
	what = h.say("%s, since %s", what, slackTime(l.Since, zone))
	switch until := l.Silenced; {
	case !until.After(channels.Until(l.Conversation.Top())):
		return what
	case until.Sub(h.Clock()) > conversation.MaxSnooze:
		return h.say("%s; this thread is muted", what)
	default:
		return h.say("%s; this thread is silent until %s", what, slackTime(until, zone))
	}
}

// budgetText tells how much of today's budgets is used: of the channel's, and of the workspace's. It has no
// line for a budget without a limit. Outsiders are not told how much the workspace has used.
func (h *Handler) budgetText(ctx context.Context, r request, s config.ChannelSettings) (string, error) {
	c, now, lines, over := r.conversation, h.Clock(), []string{}, false
	if own := s.Budget(); own.Limited() {
		calls, tokens, err := h.Store.Spent(ctx, c.Team, c.Channel, s.StartOfDay(now))
		if err != nil {
			return "", err
		}
		lines = append(lines, h.say("Used today: %s and %s.", h.spentText(calls, own.Calls, "model calls"),
			h.spentText(tokens, own.Tokens, "tokens")))
		over = own.Exhausted(calls, tokens)
	}
	if all := h.Config.WorkspaceBudget(); all.Limited() {
		spent, err := h.Store.SpentByWorkspace(ctx, c.Team, h.Config.StartOfDay(now))
		if err != nil {
			return "", err
		}
		if !r.outsider {
			lines = append(lines, h.say("Used today in the whole workspace: %s and %s.",
				h.spentText(spent.Calls, all.Calls, "model calls"), h.spentText(spent.Tokens, all.Tokens, "tokens")))
		}
		over = over || all.Exhausted(spent.Calls, spent.Tokens)
	}
	if over {
		lines = append(lines, h.say("That is all for today: I answer nobody until tomorrow."))
	}
	return strings.Join(lines, " "), nil
}

// spentText tells how many of something are used: model calls or tokens.
func (h *Handler) spentText(spent, most int, what string) string {
	if most == 0 {
		return h.say("%d "+what, spent)
	}
	return h.say("%d of %d "+what, spent, most)
}
