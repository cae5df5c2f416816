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
	now := h.Clock()
	until, err := h.Store.SilencedUntil(ctx, r.conversation)
	if err != nil {
		return h.internalError(ctx, r, "status", err)
	}
	everywhere, err := h.Store.MutedEverywhere(ctx, r.conversation.Team)
	if err != nil {
		return h.internalError(ctx, r, "status", err)
	}
	budget, err := h.budgetText(ctx, r, settings)
	if err != nil {
		return h.internalError(ctx, r, "status", err)
	}
	proposed, err := h.proposedText(ctx, r, settings.Zone)
	if err != nil {
		return h.internalError(ctx, r, "status", err)
	}
	promised, err := h.promisedText(ctx, r)
	if err != nil {
		return h.internalError(ctx, r, "status", err)
	}
	waiting, result := h.waitingText(ctx, r, settings.Zone)
	silent := h.silenceText(until, now, settings.Zone)
	if everywhere != nil {
		silent = h.say("I am muted in the whole workspace since %s, until an operator types `%s go`.",
			slackTime(everywhere.At, settings.Zone), quoted(r.Name))
	}
	lines := []string{waiting, proposed, promised, silent}
	if silent != "" && everywhere == nil {
		why, err := h.movedNotice(ctx, r.conversation)
		if err != nil {
			return h.internalError(ctx, r, "status", err)
		}
		lines = append(lines, why)
	}
	if settings.Mode != config.ModeJudge {
		lines = append(lines, h.say("My mode here is `%s`.", settings.Mode))
	}
	if settings.InQuietHours(now) {
		lines = append(lines, h.say("These are my quiet hours: I answer only when addressed."))
	}
	lines = append(lines, budget)
	return strings.Join(nonEmpty(lines), "\n"), result
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

// waitingText lists the conversations in which something is waiting, one a line.
func (h *Handler) waitingText(ctx context.Context, r request, zone *time.Location) (text, result string) {
	if err := h.CheckTemporal(ctx); err != nil {
		return h.say(noTemporal + " I cannot tell what is waiting."), failed
	}
	all, err := h.Operator.Conversations(ctx, operator.Filter{
		Team: r.conversation.Team, Channel: r.conversation.Channel, Limit: maxConversations,
		Phases: []conversation.Phase{conversation.Waiting, conversation.Judging, conversation.Delaying,
			conversation.Replying},
	})
	if err != nil {
		h.Logger.WarnContext(ctx, "what waits is not known", "conversation", r.conversation.ID(), "error", err)
		return h.say("I cannot tell what is waiting: Temporal gave no answer."), failed
	}
	var lines []string
	for _, l := range all {
		lines = append(lines, "• "+h.conversationLabel(l.Conversation, r.own.URL, zone)+": "+h.phaseText(l, zone))
	}
	if len(lines) == 0 {
		return h.say("Nothing is waiting here."), done
	}
	return strings.Join(lines, "\n"), done
}

// proposedText lists the proposals in the channel that may still come to something, one a line, without
// their inputs.
func (h *Handler) proposedText(ctx context.Context, r request, zone *time.Location) (string, error) {
	all, err := h.Store.Proposals(ctx, store.ChoiceFilter{Team: r.conversation.Team, Channel: r.conversation.Channel,
		Limit: maxConversations})
	if err != nil {
		return "", err
	}
	var lines []string
	for _, p := range all {
		lines = append(lines, "• "+h.conversationLabel(p.Conversation(), r.own.URL, zone)+": "+h.proposalText(p, zone))
	}
	return strings.Join(lines, "\n"), nil
}

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

func (h *Handler) phaseText(l operator.Listed, zone *time.Location) string {
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
	return h.say("%s, since %s", what, slackTime(l.Since, zone))
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
