// Package channels takes what Slack says of a channel into the database: one way for
// all who ask.
package channels

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"myao/internal/slack"
	"myao/internal/store"
)

// Source is who knows channels.
type Source interface {
	Channel(ctx context.Context, id string) (slack.Channel, error)
}

// Asker asks for channels. All fields are required.
type Asker struct {
	Store  *store.Store
	Source Source
	Clock  func() time.Time
	Logger *slog.Logger
}

// Ask has Slack describe a channel, for as long as within, and writes the answer down. Where
// there is no answer the log has a warning, and Slack's error is returned; one that cannot be
// written down is an answer.
func (a Asker) Ask(ctx context.Context, team, id string, within time.Duration) (store.Channel, error) {
	channel, err := a.described(ctx, id, within)
	if err != nil {
		a.Logger.WarnContext(ctx, "name of channel not learnt", "channel", id, "error", err)
		return store.Channel{}, err
	}
	if err := a.Store.SaveChannel(ctx, team, channel); err != nil {
		a.Logger.WarnContext(ctx, "name of channel not kept", "channel", id, "error", err)
	}
	return channel, nil
}

// Look has Slack describe a channel that the bot is not in, for as long as within, and writes
// the answer down. A channel that Slack does not show is closed: so it answers of a private
// one. If the bot is in it after all nothing is written: the listing tells since when. Errors
// of Slack are returned as they are.
func (a Asker) Look(ctx context.Context, team, id string, within time.Duration) error {
	channel, err := a.described(ctx, id, within)
	var refused *slack.Error
	switch {
	case errors.As(err, &refused) && refused.Code == "channel_not_found":
		a.Logger.InfoContext(ctx, "channel closed, Slack does not show it any more", "channel", id)
		return a.Store.CloseChannel(ctx, team, id)
	case err != nil || channel.Member:
		return err
	}
	return a.Store.SaveChannel(ctx, team, channel)
}

// described is what Slack says of a channel.
func (a Asker) described(ctx context.Context, id string, within time.Duration) (store.Channel, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	asked := a.Clock()
	said, err := a.Source.Channel(ctx, id)
	said.ID = id
	return Row(said, asked), err
}

// Row is what the store keeps of Slack's word on a channel. asked is when Slack was
// asked, not when it answered: an event may have said later things meanwhile.
func Row(c slack.Channel, asked time.Time) store.Channel {
	return store.Channel{ID: c.ID, Name: c.Name, Private: c.Private, External: c.External, Member: c.Member, Archived: c.Archived, Refreshed: asked}
}
