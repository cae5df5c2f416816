package inspector

import (
	"context"
	"slices"

	"myao/internal/chat"
	"myao/internal/store"
)

const (
	// maxPromises is how many open promises a page shows; those due first.
	maxPromises = 50
	// endedPromises is how many of the newest promises a page shows after they have ended.
	endedPromises = 5
)

// promises returns those that are open, the first due first, then the newest that have ended. At a channel's top
// level these are the whole channel's.
func promises(ctx context.Context, db *store.Store, c chat.Conversation) ([]store.Promise, error) {
	filter := store.ChoiceFilter{Team: c.Team, Channel: c.Channel, Thread: c.Thread, Limit: maxPromises}
	open, err := db.Promises(ctx, filter)
	if err != nil {
		return nil, err
	}
	filter.All, filter.Limit = true, endedPromises
	newest, err := db.Promises(ctx, filter)
	if err != nil {
		return nil, err
	}
	ended := slices.DeleteFunc(newest, func(p store.Promise) bool { return p.State == store.PromiseOpen })
	return slices.Concat([]store.Promise{}, open, ended), nil
}
