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
	text, _, err := d.answerNow(ctx, s.Request, func() (chat.Message, error) { return s.Message(own) }, own)
	if err != nil {
		return err
	}
	d.pending.Go(func() { d.respond(ctx, s.Request, slack.Answer{Text: words.In(d.Config.Language).Of(text)}) })
	return nil
}

// answerNow has the bot answer a message, as a shortcut or a reaction asks, counts that and logs it. It returns the
// answer to the user, and whether the order was accepted. When it returns without an error, the order is committed.
func (d room) answerNow(
	ctx context.Context, r slack.Request, read func() (chat.Message, error), own slack.Identity,
) (text string, accepted bool, err error) {
	text, result, err := d.orderAnswer(ctx, r, read, own)
	if err != nil {
		d.Metrics.order("answer_now", "failed")
		return "", false, err
	}
	d.orderHandled(ctx, "answer_now", result, r, own)
	return text, result == "done", nil
}

// orderAnswer orders an answer to a message, like an edit that adds a mention. It returns the answer to the user and
// the result for the metrics.
func (d room) orderAnswer(
	ctx context.Context, r slack.Request, read func() (chat.Message, error), own slack.Identity,
) (text, result string, err error) {
	outsider, err := d.outsider(ctx, own, r.User, r.UserTeam, r.Channel)
	if err != nil {
		return "", "", err
	}
	if !d.Config.Slack.May(r.User, outsider, config.MayAnswerNow) {
		return chatops.MayNot(d.Config, outsider, config.MayAnswerNow, "have me answer a message"), "refused", nil
	}
	m, err := read()
	switch {
	case slack.LeftOut(err):
		return replyNothingSaid, "refused", nil
	case err != nil:
		return "", "", err
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
	targets, outcome, err := d.Recorder.AnswerNow(ctx, m, "slack/"+r.ID, r.User)
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
