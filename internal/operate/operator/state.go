package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/runtime/pause"
	"myao/internal/store"
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
	// Length is that of its history. Phase is its search attribute; empty if it has none.
	Length int64              `json:"-"`
	Phase  conversation.Phase `json:"-"`
}

// Whole is the pause of the whole run; nil if none is in force.
func (r Run) Whole() *Pause {
	if len(r.Paused) > 0 && r.Paused[0].Activity == "" {
		return &r.Paused[0]
	}
	return nil
}

// Situation is all that is known of one conversation now.
type Situation struct {
	Conversation chat.Conversation
	Run          Run
	// State is that of the newest run, which may be closed, or an empty one if the server remembers no run. It
	// is nil while the whole run is paused, because then no query is answered.
	State *conversation.State
	store.Situation
}

// maxOpen bounds how many proposals, and how many promises, a Situation has.
const maxOpen = 10_000

// Situation asks Temporal and the database. It waits for a worker as long as the context allows.
func (o *Operator) Situation(ctx context.Context, c chat.Conversation) (s Situation, err error) {
	s.Conversation = c
	if s.Run, err = o.Describe(ctx, c); err != nil {
		return s, o.classify(ctx, err)
	}
	if s.Situation, err = o.Store.Situation(ctx, store.SituationRequest{
		Conversations: []chat.Conversation{c}, Open: store.In(c, maxOpen)}); err != nil {
		return s, err
	}
	if s.State, err = o.state(ctx, c, s.Run); err != nil {
		return s, o.classify(ctx, err)
	}
	return s, nil
}

// Describe is the newest run of a conversation, as Temporal knows it without a worker.
func (o *Operator) Describe(ctx context.Context, c chat.Conversation) (Run, error) {
	described, err := o.Client.DescribeWorkflowExecution(ctx, c.ID(), "")
	var none *serviceerror.NotFound
	switch {
	case errors.As(err, &none):
		return Run{}, nil
	case err != nil:
		return Run{}, fmt.Errorf("describe %s: %w", c.ID(), err)
	}
	info := described.GetWorkflowExecutionInfo()
	run := Run{
		ID: info.GetExecution().GetRunId(), Running: info.GetCloseTime() == nil, Started: info.GetStartTime().AsTime(),
		Length: info.GetHistoryLength(), Paused: pauses(described),
	}
	if !run.Running {
		run.Closed, run.Ended = info.GetCloseTime().AsTime(), info.GetStatus().String()
	}
	if p := info.GetSearchAttributes().GetIndexedFields()[conversation.AttributePhase]; p != nil {
		err = converter.GetDefaultDataConverter().FromPayload(p, &run.Phase)
	}
	return run, err
}

// state asks for the state of a run, as often as no worker answers.
func (o *Operator) state(ctx context.Context, c chat.Conversation, run Run) (*conversation.State, error) {
	switch {
	case run.ID == "":
		return conversation.New(c), nil
	case run.Whole() != nil:
		return nil, nil
	}
	for {
		state, err := o.Query(ctx, c)
		// The server gives up a query after five seconds. It refuses one at once if it has just
		// taken over the task queue and no worker has polled since.
		if err == nil || !unanswered(err) || !pause.For(ctx, queryRetryInterval) {
			return state, err
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

// Query asks a worker for the state of a conversation's newest run, once.
func (o *Operator) Query(ctx context.Context, c chat.Conversation) (*conversation.State, error) {
	value, err := o.Client.QueryWorkflow(ctx, c.ID(), "", conversation.QueryName)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", c.ID(), err)
	}
	var state *conversation.State
	if err := value.Get(&state); err != nil {
		return nil, fmt.Errorf("decode the state of %s: %w", c.ID(), err)
	}
	return state, nil
}
