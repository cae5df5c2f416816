package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
)

// acceptFor is how long an event may take. Slack waits three seconds for its
// answer: one that cannot be taken by then is refused in time.
const acceptFor = 2500 * time.Millisecond

// Directory is who tells the bot's identity, and what a channel is.
type Directory interface {
	Identity(ctx context.Context) (slack.Identity, error)
	Channel(ctx context.Context, id string) (slack.Channel, error)
}

// Relay is told of conversations that have something new.
type Relay interface {
	Kick(c chat.Conversation)
}

// Door takes events in. All fields are required.
type Door struct {
	Store     *store.Store
	Directory Directory
	Relay     Relay
	Config    config.Config
	Clock     func() time.Time
	Logger    *slog.Logger
	Metrics   *Metrics
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
	own, err := d.Directory.Identity(ctx)
	if err != nil {
		d.Metrics.event("failed")
		return fmt.Errorf("learn who the bot is: %w", err)
	}
	event, err := slack.Normalise(env, own)
	if err != nil {
		d.leaveOut(env, err)
		return nil
	}
	settings := d.settings(ctx, event.Message)
	targets, err := d.Store.Record(ctx, event.Message, func(known store.Known) store.Entry {
		return plan(event, known, settings)
	})
	if err != nil {
		d.Metrics.event("failed")
		return err
	}
	d.Metrics.event(string(event.Kind))
	d.Logger.Debug("event stored", "event", event.ID, "kind", event.Kind, "channel", event.Message.Channel,
		"ts", event.Message.TS, "targets", len(targets))
	for _, c := range targets {
		d.Relay.Kick(c)
	}
	return nil
}

// leaveOut tells of an event that is not stored.
func (d *Door) leaveOut(env slack.Envelope, why error) {
	result, level := "unusable", slog.LevelWarn
	if errors.Is(why, slack.ErrIgnored) {
		result, level = "ignored", slog.LevelInfo
	}
	d.Metrics.event(result)
	d.Logger.Log(context.Background(), level, "event not stored", "event", env.EventID, "type", env.Type, "reason", why)
}

// settings is the effective settings of a message's channel. Its name matters
// only where the configuration calls channels by name; then Slack is asked once.
func (d *Door) settings(ctx context.Context, m chat.Message) config.ChannelSettings {
	if !d.Config.NamesChannels() {
		return d.Config.Channel(m.Channel, "")
	}
	known, err := d.Store.Channels(ctx, m.Team, []string{m.Channel})
	if err != nil {
		d.Logger.Warn("name of channel not read", "channel", m.Channel, "error", err)
	}
	if c, ok := known[m.Channel]; ok && !c.Refreshed.IsZero() {
		return d.Config.Channel(m.Channel, c.Name)
	}
	// Slack waits three seconds for its answer.
	ask, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	fresh, err := d.Directory.Channel(ask, m.Channel)
	if err != nil {
		d.Logger.Warn("name of channel not learnt", "channel", m.Channel, "error", err)
		return d.Config.Channel(m.Channel, "")
	}
	if err := d.Store.SaveChannel(ctx, m.Team, store.Channel{
		ID: m.Channel, Name: fresh.Name, Private: fresh.Private, Refreshed: d.Clock(),
	}); err != nil {
		d.Logger.Warn("name of channel not kept", "channel", m.Channel, "error", err)
	}
	return d.Config.Channel(m.Channel, fresh.Name)
}
