package operator

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"myao/internal/chat"
)

// Pause is what somebody has paused by hand in Temporal: a run or one of its activities. JSON names
// are as in Listed.
type Pause struct {
	// Activity is the activity's type, such as Compose; empty for the whole run.
	Activity string    `json:"activity,omitempty"`
	At       time.Time `json:"at,omitzero"`
	// By and Reason come from Temporal; either may be empty.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// PausedError is returned for an order to a conversation whose whole run is paused. Nothing was
// done, and nothing will be.
type PausedError struct {
	Pause
	WorkflowID string
}

func (e *PausedError) Error() string { return e.WorkflowID + " is paused" }

// pauses is what is paused of a run, a pause of the whole run first.
func pauses(run *workflowservice.DescribeWorkflowExecutionResponse) (all []Pause) {
	if run.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED {
		info := run.GetWorkflowExtendedInfo().GetPauseInfo()
		all = append(all, Pause{At: info.GetPausedTime().AsTime(), By: info.GetIdentity(), Reason: info.GetReason()})
	}
	for _, a := range run.GetPendingActivities() {
		if a.GetPaused() {
			info := a.GetPauseInfo()
			all = append(all, Pause{
				Activity: a.GetActivityType().GetName(), At: info.GetPauseTime().AsTime(),
				By: info.GetManual().GetIdentity(), Reason: info.GetManual().GetReason(),
			})
		}
	}
	return all
}

// paused is a *PausedError if a conversation's whole run is paused; nil if not, or if that is
// unknown.
func (o *Operator) paused(ctx context.Context, c chat.Conversation) error {
	run, err := o.Describe(ctx, c)
	if whole := run.Whole(); err == nil && whole != nil {
		return &PausedError{Pause: *whole, WorkflowID: c.ID()}
	}
	return nil
}
