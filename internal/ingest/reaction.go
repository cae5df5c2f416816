package ingest

import (
	"context"
	"fmt"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
)

// hushed takes in a reaction. By the one that the configuration names, somebody says that
// a message wants no answer: that is committed as a change like others.
func (d *Door) hushed(ctx context.Context, env slack.Envelope, own slack.Identity) error {
	err := env.Of(own)
	var r slack.Reaction
	if err == nil {
		r, err = d.readHush(env)
	}
	if err == nil {
		err = d.hushes(ctx, r, own)
	}
	if err != nil {
		d.leaveOut(ctx, env.EventID, env.EventType, err)
		return nil
	}
	m := chat.Message{Team: own.TeamID, Channel: r.Channel, TS: r.TS}
	targets, outcome, err := d.Recorder.Hush(ctx, m, r.User)
	if err != nil {
		d.Metrics.event("failed")
		return err
	}
	d.Metrics.event("hushed")
	d.Metrics.order("hush", "done")
	d.Logger.InfoContext(ctx, "message hushed", "conversation", m.Conversation().ID(), "event", env.EventID, "ts", r.TS, "user", r.User,
		"outcome", outcome, "targets", len(targets))
	d.Relay.Notify(targets...)
	return nil
}

// readHush reads a reaction, and leaves out what is not the one that the configuration names.
func (d *Door) readHush(env slack.Envelope) (slack.Reaction, error) {
	r, err := slack.ReadReaction(env)
	if err == nil && (d.Config.Slack.HushReaction == "" || r.Name != d.Config.Slack.HushReaction) {
		err = fmt.Errorf("%w: another reaction", slack.ErrIgnored)
	}
	return r, err
}

// hushes is why a reaction hushes nothing, or nil.
func (d *Door) hushes(ctx context.Context, r slack.Reaction, own slack.Identity) error {
	switch {
	case r.User == own.UserID || d.isBot(ctx, own.TeamID, r.User):
		return fmt.Errorf("%w: the reaction of a bot", slack.ErrIgnored)
	case r.Author == own.UserID:
		return fmt.Errorf("%w: a reaction on the bot's own message", slack.ErrIgnored)
	case !d.Config.Slack.May(r.User, config.MayHush):
		d.Metrics.order("hush", "refused")
		return fmt.Errorf("%w: user %s may not hush", slack.ErrIgnored, r.User)
	}
	return nil
}

// isBot reports whether a user is known to be an app's. Whoever cannot be told is a person.
func (d *Door) isBot(ctx context.Context, team, id string) bool {
	if users, err := d.Store.Users(ctx, team, []string{id}); err == nil && !users[id].Refreshed.IsZero() {
		return users[id].Bot
	}
	ask, cancel := context.WithTimeout(ctx, time.Second) // Slack waits three seconds for its answer
	defer cancel()
	user, err := d.Slack.User(ask, id)
	if err != nil {
		d.Logger.WarnContext(ctx, "not known whether a user is an app", "user", id, "error", err)
		return false
	}
	if err := d.Store.SaveUser(ctx, team, store.User{ID: id, Name: user.Name, Bot: user.IsBot, Refreshed: d.Clock()}); err != nil {
		d.Logger.WarnContext(ctx, "name of user not kept", "user", id, "error", err)
	}
	return user.IsBot
}
