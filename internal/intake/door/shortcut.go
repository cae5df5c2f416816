package door

import (
	"context"
	"fmt"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/intake/record"
	"myao/internal/language/words"
	"myao/internal/operate/chatops"
	"myao/internal/slack"
	"myao/internal/slack/manifest"
)

// Answers to the user of the shortcut.
const (
	replyAccepted        = "I will answer it now."
	replyNotMember       = "I am not in this channel. Invite me, and ask again."
	replyAlreadyAsked    = "I am already on it, or was asked to before. Mention me in a message to ask once more."
	replyAlreadyAnswered = "I have already answered that."
	replyOwnMessage      = "I said that myself."
	replyDeleted         = "That message is gone."
	replyNothingSaid     = "There is nothing in that message to answer."
	replyModeOff         = "I am off in this channel: its mode is `off` in my configuration."
	replyMuted           = "I am muted here. Unmute me first."
)

// shortcut handles the use of a shortcut on a message.
func (d room) shortcut(ctx context.Context, s slack.MessageShortcut, own slack.Identity) error {
	if s.Callback != manifest.AnswerNow {
		return fmt.Errorf("%w: no shortcut has the callback_id %q", slack.ErrIgnored, s.Callback)
	}
	text, result, err := d.answerNow(ctx, s, own)
	if err != nil {
		d.Metrics.order("answer_now", "failed")
		return err
	}
	d.orderHandled(ctx, "answer_now", result, s.Request, own)
	d.pending.Go(func() { d.respond(ctx, s.Request, words.In(d.Config.Language).Of(text)) })
	return nil
}

// answerNow has the bot answer a message, like an edit that adds a mention. It returns the answer
// to the user and the result for the metrics. When it returns without an error, the order is
// committed.
func (d room) answerNow(
	ctx context.Context, s slack.MessageShortcut, own slack.Identity,
) (text, result string, err error) {
	outsider, err := d.outsider(ctx, own, s.User, s.UserTeam, s.Channel)
	if err != nil {
		return "", "", err
	}
	if !d.Config.Slack.May(s.User, outsider, config.MayAnswerNow) {
		return chatops.MayNot(d.Config, outsider, config.MayAnswerNow, "have me answer a message"), "refused", nil
	}
	m, err := s.Message(own)
	if err != nil {
		return replyNothingSaid, "refused", nil
	}
	if why, err := d.whyNot(ctx, m); err != nil || why != "" {
		return why, "refused", err
	}
	begun, posted, err := d.Store.ReplyProgress(ctx, own.TeamID, m.Channel, m.TS)
	switch {
	case err != nil:
		return "", "", err
	case posted:
		return replyAlreadyAnswered, "refused", nil
	case begun:
		return replyAlreadyAsked, "refused", nil
	}
	targets, outcome, err := d.Recorder.AnswerNow(ctx, m, "slack/"+s.ID, s.User)
	if err != nil {
		return "", "", err
	}
	d.Relay.Notify(targets...)
	switch outcome {
	case record.OwnMessage:
		return replyOwnMessage, "refused", nil
	case record.DeletedMessage:
		return replyDeleted, "refused", nil
	case record.AlreadyAddressed:
		return replyAlreadyAsked, "refused", nil
	}
	return replyAccepted, "done", nil
}

// whyNot returns the reason why the bot answers nothing in the place of a message, or "".
func (d room) whyNot(ctx context.Context, m chat.Message) (string, error) {
	if d.Directory.Absent(ctx, m.Team, m.Channel) {
		return replyNotMember, nil
	}
	if d.Directory.Settings(ctx, m.Team, m.Channel).Mode == config.ModeOff {
		return replyModeOff, nil
	}
	until, err := d.Store.SilencedUntil(ctx, record.Conversations(m, true)...)
	if err != nil || !until.After(d.Clock()) {
		return "", err
	}
	return replyMuted, nil
}
