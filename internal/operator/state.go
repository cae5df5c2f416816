package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/launch"
)

// Run is the newest run of a conversation's workflow. JSON names as in Listed.
type Run struct {
	// ID is Temporal's run id; empty when there was no run that the server remembers.
	ID      string    `json:"run_id,omitempty"`
	Running bool      `json:"running"`
	Started time.Time `json:"started_at,omitzero"`
	Closed  time.Time `json:"closed_at,omitzero"`
	// Ended is how, as Temporal calls it: Completed, Terminated and so on; empty while it runs.
	Ended string `json:"ended,omitempty"`
	// Paused is what somebody has paused of it: nobody goes on with that by itself.
	Paused []Pause `json:"paused,omitempty"`
}

// Show is where a conversation stands, and its newest run. One that has none that is open
// answers with where its last run ended, or, where the server remembers none, as one of which
// nothing has been heard. It waits for a worker as long as the context does. A run that is
// paused as a whole answers no question: its state is nil.
func (o *Operator) Show(ctx context.Context, c chat.Conversation) (*conversation.State, Run, error) {
	described, err := o.Client.DescribeWorkflowExecution(ctx, c.ID(), "")
	var none *serviceerror.NotFound
	switch {
	case errors.As(err, &none):
		return conversation.New(c), Run{}, nil
	case err != nil:
		return nil, Run{}, o.classify(ctx, fmt.Errorf("describe %s: %w", c.ID(), err))
	}
	info := described.GetWorkflowExecutionInfo()
	run := Run{
		ID: info.GetExecution().GetRunId(), Running: info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
		Started: info.GetStartTime().AsTime(),
	}
	var whole bool
	if run.Paused, whole = pauses(described); whole {
		run.Running = true
		return nil, run, nil
	}
	if info.GetCloseTime() != nil {
		run.Closed, run.Ended = info.GetCloseTime().AsTime(), info.GetStatus().String()
	}
	for {
		state, err := o.query(ctx, c.ID())
		if err == nil {
			return state, run, nil
		}
		// The server gives a question up after five seconds, and at once where it has just taken a
		// queue over and no worker has asked it for work since.
		if !unanswered(err) || launch.Pause(ctx, queryRetryInterval) != nil {
			return nil, run, o.classify(ctx, err)
		}
	}
}

// queryRetryInterval is how long after a question that no worker has heard it is asked again.
const queryRetryInterval = 200 * time.Millisecond

// unanswered reports whether the server found nobody to answer a query.
func unanswered(err error) bool {
	var late *serviceerror.DeadlineExceeded
	var noPoller *serviceerror.FailedPrecondition
	return errors.As(err, &late) || errors.As(err, &noPoller)
}

func (o *Operator) query(ctx context.Context, workflowID string) (*conversation.State, error) {
	value, err := o.Client.QueryWorkflow(ctx, workflowID, "", conversation.QueryName)
	if err != nil {
		return nil, fmt.Errorf("ask %s where it stands: %w", workflowID, err)
	}
	var state *conversation.State
	if err := value.Get(&state); err != nil {
		return nil, fmt.Errorf("read where %s stands: %w", workflowID, err)
	}
	return state, nil
}
