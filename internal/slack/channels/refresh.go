package channels

import (
	"context"
	"errors"
	"time"

	"myao/internal/slack"
	"myao/internal/store"
)

// Refresh has Slack describe a channel, for as long as within, and saves the answer. Slack's
// error is logged and returned; an answer that cannot be saved is only logged.
func (d *Directory) Refresh(ctx context.Context, team, id string, within time.Duration) (store.Channel, error) {
	channel, err := d.describe(ctx, id, within)
	if err != nil {
		d.Logger.WarnContext(ctx, "name of channel not learnt", "channel", id, "error", err)
		return store.Channel{}, err
	}
	if err := d.Store.SaveChannel(ctx, team, channel); err != nil {
		d.Logger.WarnContext(ctx, "name of channel not saved", "channel", id, "error", err)
	}
	return channel, nil
}

// RefreshUnwatched is Refresh for a channel that the bot is not in. Slack shows no private
// ones, so a channel that it does not show is closed. Nothing is saved if the bot is in the
// channel after all: only the listing tells since when. Errors of Slack are returned as they are.
func (d *Directory) RefreshUnwatched(ctx context.Context, team, id string, within time.Duration) error {
	channel, err := d.describe(ctx, id, within)
	switch {
	case hidden(err):
		d.Logger.InfoContext(ctx, "channel closed: Slack no longer shows it", "channel", id)
		return d.Store.CloseChannel(ctx, team, id)
	case err != nil || channel.Member:
		return err
	}
	return d.Store.SaveChannel(ctx, team, channel)
}

func (d *Directory) describe(ctx context.Context, id string, within time.Duration) (store.Channel, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	asked := d.Clock()
	described, err := d.Slack.Channel(ctx, id)
	described.ID = id
	return Row(described, asked), err
}

// Row returns what the store keeps of Slack's description of a channel. asked is when Slack
// was asked, not when it answered: an event may have brought newer facts in between.
func Row(c slack.Channel, asked time.Time) store.Channel {
	return store.Channel{ID: c.ID, Name: c.Name, Private: c.Private, External: c.External, OrgShared: c.OrgShared,
		Member: c.Member, Archived: c.Archived, Refreshed: asked}
}

// hidden reports whether Slack does not show a channel to the bot.
func hidden(err error) bool {
	refused, ok := errors.AsType[*slack.Error](err)
	return ok && refused.Code == "channel_not_found"
}

// final reports whether Slack would give the same answer again.
func final(err error) bool {
	refused, ok := errors.AsType[*slack.Error](err)
	return ok && refused.Kind == slack.Final
}
