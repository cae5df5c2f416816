package record

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"myao/internal/channels"
	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
)

// askFor is how long Slack may take to describe a channel. Slack itself waits three seconds
// for the acknowledgement of an event.
const askFor = time.Second

// Directory knows the bot's identity, and channels.
type Directory interface {
	Identity(ctx context.Context) (slack.Identity, error)
	Channel(ctx context.Context, id string) (slack.Channel, error)
}

// Recorder commits events, live ones and those that catch-up finds later. All fields are
// required.
type Recorder struct {
	Store     *store.Store
	Directory Directory
	Config    config.Config
	Clock     func() time.Time
	Logger    *slog.Logger
}

// Record commits an event and returns the conversations that have something new to be
// relayed. Recording the same event again changes nothing. own is the bot's identity.
func (r *Recorder) Record(ctx context.Context, e slack.MessageEvent, own slack.Identity) ([]store.Target, error) {
	settings := r.Settings(ctx, e.Message.Team, e.Message.Channel)
	return r.Store.Record(ctx, e.Message, func(known store.Known) store.Entry {
		entry := plan(e, known, settings, own.UserID)
		entry.Private, entry.External = e.Private(), e.External
		return entry
	})
}

// Settings is the effective settings of a channel. The channel's name matters only where the
// configuration names channels; a name that is not known yet is asked of Slack.
func (r *Recorder) Settings(ctx context.Context, team, channel string) config.ChannelSettings {
	if !r.Config.HasNamedChannels() {
		return r.Config.Channel(config.ChannelFacts{ID: channel})
	}
	known, err := r.Store.Channels(ctx, team, []string{channel})
	if err != nil {
		r.Logger.WarnContext(ctx, "name of channel not read", "channel", channel, "error", err)
	}
	if c, ok := known[channel]; ok && !c.Refreshed.IsZero() {
		return r.Config.Channel(config.ChannelFacts{ID: channel, Name: c.Name})
	}
	ask := channels.Asker{Store: r.Store, Source: r.Directory, Clock: r.Clock, Logger: r.Logger}
	described, _ := ask.Ask(ctx, team, channel, askFor)
	return r.Config.Channel(config.ChannelFacts{ID: channel, Name: described.Name})
}

// Absent reports whether the bot is not a member of a channel. It asks Slack, and falls back
// to what the database knows. A channel that nobody knows counts as one with the bot in it.
func (r *Recorder) Absent(ctx context.Context, team, channel string) bool {
	ask, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	c, err := r.Directory.Channel(ask, channel)
	if err == nil {
		return !c.Member
	}
	if refused, ok := errors.AsType[*slack.Error](err); ok && refused.Kind == slack.Final {
		return refused.Code == "channel_not_found"
	}
	r.Logger.WarnContext(ctx, "not known whether the bot is in a channel", "channel", channel, "error", fmt.Errorf("ask Slack: %w", err))
	known, err := r.Store.Channels(ctx, team, []string{channel})
	return err == nil && !known[channel].Refreshed.IsZero() && !known[channel].Member
}
