package inspector

import (
	"context"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
)

const (
	// maxPromises is how many open promises a page shows; those due first.
	maxPromises = 50
	// endedPromises is how many of the newest promises a page shows after they have ended.
	endedPromises = 5
)

// promise is something that the bot has said it will do at a time.
type promise struct {
	ID     string `json:"id"`
	What   string `json:"what"`
	Unless string `json:"unless,omitempty"`
	Every  string `json:"every,omitempty"`
	// Due is when it is due next, or was in the end. Held is until when a silence holds it up.
	Due  time.Time `json:"due"`
	Held time.Time `json:"held,omitzero"`
	// Number counts its times, from 1.
	Number int                `json:"number"`
	State  store.PromiseState `json:"state"`
	Asker  string             `json:"asker"` // user id
	// Trigger is the ts of the message that asked, TS that of the message that confirms it.
	Trigger string `json:"trigger"`
	TS      string `json:"ts"`
	Thread  string `json:"thread,omitempty"`
	// By is slack:U…, an operator's name or that of a rule; "" if it has ended in the ordinary way.
	By string `json:"by,omitempty"`
}

// promises returns those that are open, the first due first, then the newest that have ended. At a channel's top
// level these are the whole channel's.
func promises(ctx context.Context, db *store.Store, c chat.Conversation) ([]promise, error) {
	filter := store.PromiseFilter{Team: c.Team, Channel: c.Channel, Thread: c.Thread, Limit: maxPromises}
	open, err := db.Promises(ctx, filter)
	if err != nil {
		return nil, err
	}
	filter.All, filter.Limit = true, endedPromises
	newest, err := db.Promises(ctx, filter)
	if err != nil {
		return nil, err
	}
	all := []promise{}
	for i, p := range append(open, newest...) {
		if i >= len(open) && p.State == store.PromiseOpen {
			continue
		}
		shown := promise{
			ID: p.ID, What: p.What, Unless: p.Unless, Every: p.Every, Due: p.Due(), Number: p.Number, State: p.State,
			Asker: p.Asker, Trigger: p.TriggerTS, TS: p.ShownTS, Thread: p.ThreadTS, By: p.EndedBy,
		}
		if p.HeldUS > p.DueUS {
			shown.Held = p.Begins()
		}
		all = append(all, shown)
	}
	return all, nil
}
