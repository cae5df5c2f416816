package activities

import (
	"context"

	"myao/internal/conversation"
	"myao/internal/runtime/failpoint"
)

// unjudgedReason is the ledger's reason for a judgment that failed.
const unjudgedReason = "no judgment was had"

// SettleInput says how a decision ended.
type SettleInput struct {
	Task
	Addressed bool                 `json:"addressed,omitempty"`
	Outcome   conversation.Outcome `json:"outcome"`
	By        string               `json:"by,omitempty"`
}

// Settle saves the outcome of a decision in the ledger, and the decision itself if the activity that
// makes it never completed.
func (a *Activities) Settle(ctx context.Context, in SettleInput) error {
	if in.Outcome != conversation.OutcomePosted {
		a.notPosted(in.Task, in.Addressed)
	}
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
	if in.Outcome == conversation.OutcomeFailed && !in.Addressed {
		if d, err := a.Store.Decision(ctx, d.Key); err == nil && !d.HasVerdict() {
			a.Metrics.judgmentFailed()
		}
	}
	failpoint.Here("settle: settled")
	return nil
}
