package inspector

import (
	"context"
	"slices"

	"myao/internal/chat"
	"myao/internal/store"
)

const (
	// maxOpen is how many open promises, and how many proposals, a page shows.
	maxOpen = 50
	// endedPromises is how many of the newest promises a page shows after they have ended.
	endedPromises = 5
)

// situation is what the database knows of a conversation, and of the newest promises those that have ended. At a
// channel's top level, what is open is the whole channel's.
func situation(
	ctx context.Context, db *store.Store, c chat.Conversation,
) (now store.Situation, ended []store.Promise, err error) {
	open := store.ChoiceFilter{Team: c.Team, Channel: c.Channel, Thread: c.Thread, Limit: maxOpen}
	now, err = db.Situation(ctx, store.SituationRequest{Conversations: []chat.Conversation{c}, Open: open})
	if err != nil {
		return store.Situation{}, nil, err
	}
	open.All, open.Limit = true, endedPromises
	newest, err := db.Promises(ctx, open)
	return now, slices.DeleteFunc(newest, func(p store.Promise) bool { return p.State == store.PromiseOpen }), err
}
