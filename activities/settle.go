package activities

import (
	"context"
	"time"

	"myao/internal/chat"
	"myao/internal/failpoint"
	"myao/internal/store"
)

// Mute is how long a conversation is silenced when no end is named: a century.
const Mute = 100 * 365 * 24 * time.Hour

// SettleInput says what became of a decision.
type SettleInput struct {
	Task
	Addressed bool   `json:"addressed,omitempty"`
	Outcome   string `json:"outcome"`
	By        string `json:"by,omitempty"`
}

// Settle writes the outcome of a decision into the ledger, and the decision
// itself where the activity that takes it never came to its end.
func (a *Activities) Settle(ctx context.Context, in SettleInput) error {
	d := store.Decision{
		Key: in.decision(), WorkflowID: in.Conversation.ID(), TriggerTS: in.Trigger, Revision: in.Revision,
		Source: "judgment", Reason: "no judgment was had", Outcome: in.Outcome, OutcomeBy: in.By,
	}
	if in.Addressed {
		d.Source, d.Reason, d.ShouldRespond = "addressed", addressedReason, true
	}
	if err := a.Store.Decide(ctx, d); err != nil {
		return classify(err)
	}
	failpoint.Here("settle: decided")
	if err := a.Store.Settle(ctx, d.Key, in.Outcome, in.By); err != nil {
		return classify(err)
	}
	failpoint.Here("settle: settled")
	return nil
}

// SilenceInput mutes a conversation for a time; 0 ends it.
type SilenceInput struct {
	Conversation chat.Conversation `json:"conversation"`
	For          time.Duration     `json:"for"`
}

// Silence writes down until when a conversation is silent.
func (a *Activities) Silence(ctx context.Context, in SilenceInput) error {
	var until time.Time
	if in.For > 0 {
		until = a.Clock().Add(in.For)
	}
	return classify(a.Store.Silence(ctx, in.Conversation.ID(), until))
}
