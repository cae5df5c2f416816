package door

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
)

// userTimeout is how long Slack may take to describe a user. Slack itself waits three seconds for
// the acknowledgement of an event.
const userTimeout = time.Second

// reactionAdded records a reaction. Those that the configuration names say that somebody wants an answer to the
// message, or none.
func (d room) reactionAdded(ctx context.Context, e slack.Reaction, own slack.Identity) error {
	if err := d.reaction(ctx, e, false, own); err != nil {
		return err
	}
	switch chat.EmojiName(e.Emoji) {
	case d.Config.Slack.HushReaction:
		return d.hush(ctx, e, own)
	case d.Config.Slack.AnswerReaction:
		return d.answerReacted(ctx, e, own)
	}
	return nil
}

// answerReacted has the bot answer the message that somebody has reacted to, as the shortcut does.
func (d room) answerReacted(ctx context.Context, e slack.Reaction, own slack.Identity) error {
	if d.isBot(ctx, own.TeamID, e.User) {
		return fmt.Errorf("%w: the reaction of a bot", slack.ErrIgnored)
	}
	order := slack.Request{Type: "reaction_added", ID: "reaction/" + own.TeamID + "/" + e.Channel + "/" + e.TS,
		User: e.User, Channel: e.Channel}
	why, accepted, err := d.answerNow(ctx, order, func() (chat.Message, error) { return d.reactedTo(ctx, e, own) }, own)
	if err == nil && !accepted {
		err = fmt.Errorf("%w: a reaction that asks for an answer: %s", slack.ErrIgnored, why)
	}
	return err
}

// reactedTo reads a message that somebody has reacted to, from Slack where it is not known: the bot may have come to
// the channel later.
func (d room) reactedTo(ctx context.Context, e slack.Reaction, own slack.Identity) (chat.Message, error) {
	m, err := d.Store.Message(ctx, own.TeamID, e.Channel, e.TS)
	if !errors.Is(err, store.ErrNotFound) {
		return m, err
	}
	page, err := d.Slack.Replies(ctx, e.Channel, e.TS, slack.Range{Oldest: e.TS, Latest: e.TS, Limit: 1}, own)
	if refused, ok := errors.AsType[*slack.Error](err); ok && refused.Kind == slack.Final {
		return chat.Message{}, fmt.Errorf("%w: %w", slack.ErrUnusable, err)
	}
	if err != nil {
		return chat.Message{}, err
	}
	i := slices.IndexFunc(page.Messages, func(read chat.Message) bool { return read.TS == e.TS })
	if i < 0 {
		return chat.Message{}, fmt.Errorf("%w: Slack has no such message", slack.ErrUnusable)
	}
	return page.Messages[i], nil
}

// hush records that somebody wants no answer to a message.
func (d room) hush(ctx context.Context, e slack.Reaction, own slack.Identity) error {
	if err := d.mayHush(ctx, e, own); err != nil {
		return err
	}
	m := chat.Message{Team: own.TeamID, Channel: e.Channel, TS: e.TS}
	targets, outcome, err := d.Recorder.Hush(ctx, m, e.User)
	if err != nil {
		return err
	}
	d.Metrics.event("hushed")
	d.Metrics.order("hush", "done")
	d.Logger.InfoContext(ctx, "message hushed", "conversation", m.Conversation().ID(), "ts", e.TS, "user", e.User,
		"outcome", outcome, "targets", len(targets))
	d.Relay.Notify(targets...)
	return nil
}

// reaction records that a reaction was added or removed: judgments see it.
func (d room) reaction(ctx context.Context, e slack.Reaction, removed bool, own slack.Identity) error {
	if e.User == own.UserID {
		return fmt.Errorf("%w: the bot's own reaction", slack.ErrIgnored)
	}
	r := store.Reaction{Team: own.TeamID, Channel: e.Channel, TS: e.TS, User: e.User, Name: e.Emoji, Removed: removed,
		At: e.At}
	if r.At.IsZero() {
		r.At = d.Clock()
	}
	if err := d.Store.PutReaction(ctx, r); err != nil {
		return err
	}
	d.Metrics.event("reacted")
	return nil
}

// mayHush returns the reason why a reaction has no effect, or nil. For their own messages outsiders
// may do what everybody may: they could as well delete them.
func (d room) mayHush(ctx context.Context, e slack.Reaction, own slack.Identity) error {
	switch {
	case e.User == own.UserID || d.isBot(ctx, own.TeamID, e.User):
		return fmt.Errorf("%w: the reaction of a bot", slack.ErrIgnored)
	case e.Author == own.UserID:
		return fmt.Errorf("%w: a reaction on the bot's own message", slack.ErrIgnored)
	}
	outsider, err := d.outsider(ctx, own, e.User, "", e.Channel)
	if err != nil {
		return err
	}
	if !d.Config.Slack.May(e.User, outsider && e.User != e.Author, config.MayHush) {
		d.Metrics.order("hush", "refused")
		return fmt.Errorf("%w: user %s may not hush", slack.ErrIgnored, e.User)
	}
	return nil
}

// isBot reports whether a user is an app. It asks Slack about unknown users. A user about whom
// Slack does not answer counts as a person.
func (d room) isBot(ctx context.Context, team, id string) bool {
	if users, err := d.Store.Users(ctx, team, []string{id}); err == nil && !users[id].Refreshed.IsZero() {
		return users[id].Bot
	}
	user, err := d.refreshUser(ctx, team, id)
	if err != nil {
		d.Logger.WarnContext(ctx, "cannot tell whether a user is an app; taken for a person", "user", id, "error", err)
	}
	return user.Bot
}
