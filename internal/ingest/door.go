package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"myao/internal/chat"
	"myao/internal/failpoint"
	"myao/internal/slack"
)

// acceptFor is how long an event may take. Slack waits three seconds for its
// answer: one that cannot be taken by then is refused in time.
const acceptFor = 2500 * time.Millisecond

// Relay is told of conversations that have something new.
type Relay interface {
	Kick(c chat.Conversation)
}

// Door takes events in. All fields are required.
type Door struct {
	Recorder
	Relay   Relay
	Metrics *Metrics
}

// Accept takes in one envelope of the Events API: when it returns nil the event
// is committed, or known to be of no use. ErrNotObject is a body that is no JSON
// object; every other error means that Slack should send the event again.
func (d *Door) Accept(ctx context.Context, body []byte) error {
	env, err := slack.ParseEnvelope(body)
	if err != nil {
		d.Metrics.event("unreadable")
		return err
	}
	return d.take(ctx, env)
}

// take is Accept of an envelope that has been read.
func (d *Door) take(ctx context.Context, env slack.Envelope) error {
	ctx, cancel := context.WithTimeout(ctx, acceptFor)
	defer cancel()
	own, err := d.own(ctx)
	if err != nil {
		return err
	}
	event, err := slack.Normalise(env, own)
	if err != nil {
		d.leaveOut(env.EventID, env.Type, err)
		return nil
	}
	targets, err := d.Record(ctx, event)
	if err != nil {
		d.Metrics.event("failed")
		return err
	}
	failpoint.Here("door: stored")
	d.Metrics.event(string(event.Kind))
	d.Logger.Debug("event stored", "event", event.ID, "kind", event.Kind, "channel", event.Message.Channel,
		"ts", event.Message.TS, "targets", len(targets))
	for _, c := range targets {
		d.Relay.Kick(c)
	}
	return nil
}

// own is who the bot is, without which nothing can be told from what is others'.
func (d *Door) own(ctx context.Context) (slack.Identity, error) {
	own, err := d.Directory.Identity(ctx)
	if err != nil {
		d.Metrics.event("failed")
		return slack.Identity{}, fmt.Errorf("learn who the bot is: %w", err)
	}
	return own, nil
}

// hear is take of what somebody asked by a button or a slash command. Nothing answers to
// these yet: whose it is gets checked and counted.
func (d *Door) hear(ctx context.Context, r slack.Request) error {
	ctx, cancel := context.WithTimeout(ctx, acceptFor)
	defer cancel()
	own, err := d.own(ctx)
	if err != nil {
		return err
	}
	why := r.Of(own)
	if why == nil {
		why = fmt.Errorf("%w: nothing answers to it", slack.ErrIgnored)
	}
	d.leaveOut("", r.Type, why)
	return nil
}

// leaveOut tells of an event or a request of which nothing is stored.
func (d *Door) leaveOut(event, kind string, why error) {
	result, level := "unusable", slog.LevelWarn
	switch {
	case errors.Is(why, slack.ErrForeign):
		result = "foreign"
	case errors.Is(why, slack.ErrIgnored):
		result, level = "ignored", slog.LevelInfo
	}
	d.Metrics.event(result)
	d.Logger.Log(context.Background(), level, "event not stored", "event", event, "type", kind, "reason", why)
}
