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
	"myao/internal/runtime/pause"
)

// Run is the newest run of a conversation's workflow. JSON names are as in Listed.
type Run struct {
	// ID is Temporal's run id; empty if the server remembers no run.
	ID      string    `json:"run_id,omitempty"`
	Running bool      `json:"running"`
	Started time.Time `json:"started_at,omitzero"`
	Closed  time.Time `json:"closed_at,omitzero"`
	// Ended is Temporal's status, such as Completed or Terminated; empty while it runs.
	Ended string `json:"status,omitempty"`
	// Paused is what somebody has paused of it. Only a person can resume that.
	Paused []Pause `json:"paused,omitempty"`
}

// Show is a conversation's state and its newest run. If no run is open, it is the state in which
// the last one ended, or an empty state if the server remembers none. It waits for a worker as long
// as the context allows. The state is nil if the whole run is paused, because then no query is
// answered.
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
		// The server gives up a query after five seconds. It refuses one at once if it has just
		// taken over the task queue and no worker has polled since.
		if !unanswered(err) || !pause.For(ctx, queryRetryInterval) {
			return nil, run, o.classify(ctx, err)
		}
	}
}

// queryRetryInterval is the wait before a query that no worker got is sent again.
const queryRetryInterval = 200 * time.Millisecond

// unanswered reports whether the server found no worker for a query.
func unanswered(err error) bool {
	var late *serviceerror.DeadlineExceeded
	var noPoller *serviceerror.FailedPrecondition
	return errors.As(err, &late) || errors.As(err, &noPoller)
}

func (o *Operator) query(ctx context.Context, workflowID string) (*conversation.State, error) {
	value, err := o.Client.QueryWorkflow(ctx, workflowID, "", conversation.QueryName)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", workflowID, err)
	}
	var state *conversation.State
	if err := value.Get(&state); err != nil {
		return nil, fmt.Errorf("decode the state of %s: %w", workflowID, err)
	}
	return state, nil
}
