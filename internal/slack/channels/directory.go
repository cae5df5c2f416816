// Package channels is the one place that knows a channel: how Slack describes it, what the
// database keeps of that, and which settings hold in it.
package channels

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

// Slack describes channels and users. It returns a *slack.Error when Slack refuses.
type Slack interface {
	Channel(ctx context.Context, id string) (slack.Channel, error)
	Members(ctx context.Context, channel, cursor string) (ids []string, next string, err error)
	User(ctx context.Context, id string) (slack.User, error)
}

// Config holds the settings of channels.
type Config interface {
	Channel(config.ChannelFacts) config.ChannelSettings
	// HasNamedChannels reports whether any settings depend on the name of a channel.
	HasNamedChannels() bool
}

// Store keeps what Slack says of channels and of who is there.
type Store interface {
	Channels(ctx context.Context, team string, ids []string) (map[string]store.Channel, error)
	SaveChannel(ctx context.Context, team string, c store.Channel) error
	CloseChannel(ctx context.Context, team, channel string) error
	SaveMembers(ctx context.Context, team, channel string, members []string, asked time.Time) (outsiders int, err error)
	Users(ctx context.Context, team string, ids []string) (map[string]store.User, error)
	SaveUsers(ctx context.Context, team string, users ...store.User) error
	SetIn(ctx context.Context, team string, channels ...string) (map[string]chat.Set, error)
}

// Directory tells which settings hold in a channel, what it is called and whether the bot is
// in it. It is safe for concurrent use. Store and Config are enough for SettingsOf and
// StoredSettings, Store and Clock for Name; all else needs all fields.
type Directory struct {
	Store  Store
	Slack  Slack
	Config Config
	Clock  func() time.Time
	Logger *slog.Logger

	names    names
	apps     names // of apps, by bot ids
	listings memberListings
}

const (
	// requestWait is how long Slack may take to describe a channel while a request of its own
	// waits for the answer, which it does for three seconds.
	requestWait = time.Second
	// resolveWait is how long it may take otherwise.
	resolveWait = 5 * time.Second
)

// SettingsFacts returns the facts of a channel that its settings depend on, without what is set in Slack.
func SettingsFacts(c store.Channel) config.ChannelFacts {
	return config.ChannelFacts{ID: c.ID, Name: c.Name}
}

// SettingsOf returns the settings that hold in a channel by facts that were read already.
func (d *Directory) SettingsOf(f config.ChannelFacts) config.ChannelSettings {
	return d.Config.Channel(f)
}

// StoredSettings returns, by ID, the settings that hold in channels by what the database knows
// of them. With an error it returns the settings that stand under the IDs alone.
func (d *Directory) StoredSettings(
	ctx context.Context, team string, ids ...string,
) (map[string]config.ChannelSettings, error) {
	facts, err := d.StoredFacts(ctx, team, ids...)
	settings := make(map[string]config.ChannelSettings, len(ids))
	for id, f := range facts {
		settings[id] = d.SettingsOf(f)
	}
	return settings, err
}

// StoredFacts returns, by ID, what the settings of channels depend on, by what the database knows of them. With an
// error it returns the IDs alone.
func (d *Directory) StoredFacts(
	ctx context.Context, team string, ids ...string,
) (map[string]config.ChannelFacts, error) {
	known, err := d.stored(ctx, team, ids...)
	sets, failed := d.Store.SetIn(ctx, team, ids...)
	facts := make(map[string]config.ChannelFacts, len(ids))
	for _, id := range ids {
		facts[id] = config.ChannelFacts{ID: id, Name: known[id].Name, Set: sets[id]}
	}
	return facts, errors.Join(err, failed)
}

// stored reads channels, unless all settings stand under IDs.
func (d *Directory) stored(ctx context.Context, team string, ids ...string) (map[string]store.Channel, error) {
	if !d.Config.HasNamedChannels() {
		return nil, nil
	}
	return d.Store.Channels(ctx, team, ids)
}

// Settings returns the settings that hold in a channel, for a caller that cannot wait or try
// again. A channel that Slack never described is looked up for a second, if its name may
// matter. What cannot be read is logged; then the settings are those under the ID alone.
func (d *Directory) Settings(ctx context.Context, team, id string) config.ChannelSettings {
	return d.SettingsOf(d.Facts(ctx, team, id))
}

// Facts returns what the settings of a channel depend on, as Settings reads it.
func (d *Directory) Facts(ctx context.Context, team, id string) config.ChannelFacts {
	known, err := d.stored(ctx, team, id)
	if err != nil {
		d.Logger.WarnContext(ctx, "name of channel not read", "channel", id, "error", err)
	}
	c := known[id]
	if c.Refreshed.IsZero() && d.Config.HasNamedChannels() {
		c, _ = d.Refresh(ctx, team, id, requestWait)
	}
	sets, err := d.Store.SetIn(ctx, team, id)
	if err != nil {
		d.Logger.WarnContext(ctx, "what is set of a channel in Slack was not read", "channel", id, "error", err)
	}
	return config.ChannelFacts{ID: id, Name: c.Name, Set: sets[id]}
}

// Resolve is SettingsOf for a caller that can try again: where the name is missing and may
// matter, Slack is asked for it. Resolve returns Slack's error, unless Slack refuses for good. What is set in Slack is
// read where the facts lack it.
func (d *Directory) Resolve(ctx context.Context, team string, f config.ChannelFacts) (config.ChannelSettings, error) {
	if f.Name == "" && d.Config.HasNamedChannels() && !(chat.Conversation{Channel: f.ID}).Direct() {
		c, err := d.Refresh(ctx, team, f.ID, resolveWait)
		if err != nil && !final(err) {
			return config.ChannelSettings{}, err
		}
		f.Name = c.Name
	}
	if f.Set == nil {
		sets, err := d.Store.SetIn(ctx, team, f.ID)
		if err != nil {
			return config.ChannelSettings{}, err
		}
		f.Set = sets[f.ID]
	}
	return d.SettingsOf(f), nil
}

// Absent reports whether the bot is not in a channel. Slack is asked; if it does not answer
// within a second, its last answer counts. Absent returns false when there is none.
func (d *Directory) Absent(ctx context.Context, team, id string) bool {
	ask, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	c, err := d.Slack.Channel(ask, id)
	switch {
	case err == nil:
		return !c.Member
	case final(err):
		return hidden(err)
	}
	d.Logger.WarnContext(ctx, "not known whether the bot is in a channel", "channel", id, "error",
		fmt.Errorf("ask Slack: %w", err))
	known, err := d.Store.Channels(ctx, team, []string{id})
	return err == nil && !known[id].Refreshed.IsZero() && !known[id].Member
}
