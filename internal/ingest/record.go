package ingest

import (
	"context"
	"log/slog"
	"time"

	"myao/internal/channels"
	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
)

// Directory is who tells the bot's identity, and what a channel is.
type Directory interface {
	Identity(ctx context.Context) (slack.Identity, error)
	Channel(ctx context.Context, id string) (slack.Channel, error)
}

// Recorder writes down what happened to a message and what is to be relayed of it:
// the one way for events as they come and for what catch-up finds later. All
// fields are required.
type Recorder struct {
	Store     *store.Store
	Directory Directory
	Config    config.Config
	Clock     func() time.Time
	Logger    *slog.Logger
}

// Record commits an event and returns the conversations that have something new to
// be relayed. The same event again changes nothing. own is who the bot is.
func (r *Recorder) Record(ctx context.Context, e slack.Event, own slack.Identity) ([]store.Target, error) {
	settings := r.Settings(ctx, e.Message.Team, e.Message.Channel)
	return r.Store.Record(ctx, e.Message, func(known store.Known) store.Entry {
		entry := plan(e, known, settings, own.UserID)
		entry.Private, entry.External = e.Private(), e.External
		return entry
	})
}

// Settings is the effective settings of a channel. Its name matters only where the
// configuration calls channels by name; then Slack is asked once.
func (r *Recorder) Settings(ctx context.Context, team, channel string) config.ChannelSettings {
	if !r.Config.NamesChannels() {
		return r.Config.Channel(channel, "")
	}
	known, err := r.Store.Channels(ctx, team, []string{channel})
	if err != nil {
		r.Logger.WarnContext(ctx, "name of channel not read", "channel", channel, "error", err)
	}
	if c, ok := known[channel]; ok && !c.Refreshed.IsZero() {
		return r.Config.Channel(channel, c.Name)
	}
	// Slack waits three seconds for its answer.
	ask := channels.Asker{Store: r.Store, Source: r.Directory, Clock: r.Clock, Logger: r.Logger}
	fresh, _ := ask.Ask(ctx, team, channel, time.Second)
	return r.Config.Channel(channel, fresh.Name)
}
