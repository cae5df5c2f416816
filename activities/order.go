package activities

import (
	"context"
	"errors"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
)

// RecordOrderInput is an order to a conversation.
type RecordOrderInput struct {
	Conversation chat.Conversation `json:"conversation"`
	// ID is the update's id.
	ID string `json:"id"`
	// Kind is the update's name.
	Kind string    `json:"kind"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
	// Until is the end of a snooze or mute; the zero time of an unmute.
	Until time.Time `json:"until,omitzero"`
}

// Workspace implements Input.
func (in RecordOrderInput) Workspace() string { return in.Conversation.Team }

// RecordOrder saves who ordered what and when. A snooze, mute or unmute also sets until when the
// conversation is silent.
func (a *Activities) RecordOrder(ctx context.Context, in RecordOrderInput) error {
	err := a.Store.ApplyOrder(ctx, store.Order{
		ID: in.ID, Scope: chat.Scope(in.Conversation), Kind: in.Kind, By: in.By, Until: in.Until, At: in.At,
	})
	if errors.Is(err, store.ErrOrderIDTaken) {
		err = final(err)
	}
	return classify(err)
}
