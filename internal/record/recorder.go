package record

import (
	"context"

	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
)

// Directory knows the settings of channels.
type Directory interface {
	Settings(ctx context.Context, team, channel string) config.ChannelSettings
}

// Recorder commits events, live ones and those that catch-up finds later. Store and Directory are
// required.
type Recorder struct {
	Store     *store.Store
	Directory Directory
	// Operators are the user ids of those who may stop any reply.
	Operators []string
}

// Record commits an event and returns the conversations that have something new to be
// relayed. Recording the same event again changes nothing. own is the bot's identity.
func (r *Recorder) Record(ctx context.Context, e slack.MessageEvent, own slack.Identity) ([]store.Target, error) {
	settings := r.Directory.Settings(ctx, e.Message.Team, e.Message.Channel)
	return r.Store.Record(ctx, e.Message, func(known store.Known) store.Entry {
		entry := plan(e, known, settings, own.UserID, r.Operators...)
		entry.Private, entry.External = e.Private(), e.External
		return entry
	})
}
