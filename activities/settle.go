package activities

import (
	"context"

	"myao/internal/conversation"
	"myao/internal/failpoint"
)

// unjudgedReason is what the ledger says of a judgment that never came to its end.
const unjudgedReason = "no judgment was had"

// SettleInput says what became of a decision.
type SettleInput struct {
	Task
	Addressed bool                 `json:"addressed,omitempty"`
	Outcome   conversation.Outcome `json:"outcome"`
	By        string               `json:"by,omitempty"`
}

// Settle writes the outcome of a decision into the ledger, and the decision
// itself where the activity that takes it never came to its end.
func (a *Activities) Settle(ctx context.Context, in SettleInput) error {
	d := in.decisionRow("judgment")
	d.Reason, d.Outcome, d.OutcomeBy = unjudgedReason, in.Outcome, in.By
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
	if in.Outcome == conversation.Unsent && !in.Addressed {
		if d, err := a.Store.Decision(ctx, d.Key); err == nil && !d.HasVerdict() {
			a.Metrics.unjudged()
		}
	}
	failpoint.Here("settle: settled")
	return nil
}
