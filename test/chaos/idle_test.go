package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	temporalsdk "go.temporal.io/sdk/temporal"

	"myao/internal/conversation"
	"myao/test/testserver"
	"myao/workflows"
)

// unfinished is the work still under way.
type unfinished struct {
	changes, pending int // rows of the database
	busy             []string
	err              error
}

func (u unfinished) none() bool {
	return u.err == nil && u.changes+u.pending+len(u.busy) == 0
}

func (u unfinished) String() string {
	return fmt.Sprintf("%d changes to be relayed, %d decisions pending, %d conversations busy %s, error %v",
		u.changes, u.pending, len(u.busy), strings.Join(u.busy[:min(len(u.busy), 20)], " "), u.err)
}

// unfinished returns the work under way at this moment.
func (w *system) unfinished() (u unfinished) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	u.err = w.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM changes WHERE relayed_us IS NULL),
		(SELECT count(*) FROM decisions WHERE outcome = 'pending')`).Scan(&u.changes, &u.pending)
	if u.err != nil {
		return u
	}
	listed, err := w.list(ctx, fmt.Sprintf("WorkflowType = %q AND ExecutionStatus = 'Running' AND %s != %q",
		conversation.WorkflowType, conversation.AttributePhase, conversation.Idle))
	if err != nil {
		u.err = err
		return u
	}
	u.busy, u.err = w.busy(ctx, listed)
	return u
}

// busy returns up to 20 of the conversations that are not idle. It queries the workflows, because
// search attributes lag: by up to a quarter of an hour on an overloaded dev server, and after
// a kill some are missing.
func (w *system) busy(ctx context.Context, ids []string) ([]string, error) {
	var busy []string
	for _, id := range ids {
		d, err := w.Client.DescribeWorkflow(ctx, id, "")
		if err != nil {
			return nil, err
		}
		phase, _ := d.TypedSearchAttributes.GetKeyword(phaseAttribute)
		if d.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING && phase != string(conversation.Idle) && !w.idles(ctx, id) {
			busy = append(busy, id)
			if len(busy) == 20 {
				return busy, nil // enough for a report
			}
		}
	}
	return busy, nil
}

// idles reports whether a conversation says that it is idle.
func (w *system) idles(ctx context.Context, id string) bool {
	var state conversation.State
	value, err := w.Client.QueryWorkflow(ctx, id, "", conversation.QueryName)
	return err == nil && value.Get(&state) == nil && state.Phase == conversation.Idle
}

var phaseAttribute = temporalsdk.NewSearchAttributeKeyKeyword(conversation.AttributePhase)

// list returns the ids of workflows.
func (w *system) list(ctx context.Context, query string) ([]string, error) {
	var ids []string
	for token := []byte(nil); ; {
		page, err := w.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, NextPageToken: token})
		if err != nil {
			return nil, err
		}
		for _, e := range page.Executions {
			ids = append(ids, e.Execution.WorkflowId)
		}
		if token = page.NextPageToken; len(token) == 0 {
			return ids, nil
		}
	}
}

// awaitIdle waits until no work has been under way for three seconds, because search attributes
// may lag. It returns an error after within.
func (w *system) awaitIdle(within time.Duration) error {
	if err := w.awaitDeliveries(within); err != nil {
		return err
	}
	ran := testserver.MeasureRunning() // nothing happens while the machine stalls
	var since time.Duration
	var told time.Time
	var last unfinished
	if !w.waits(within, func() bool {
		if last = w.unfinished(); !last.none() {
			since = 0
			if time.Since(told) > 5*time.Second {
				told = time.Now()
				w.log.Print("not idle yet: ", last)
			}
		} else if since == 0 {
			since = ran()
		}
		return since > 0 && ran()-since >= 3*time.Second
	}) {
		return fmt.Errorf("not idle within %s: %s%s", within, last, w.describe(last.busy))
	}
	return w.checkIdle()
}

// checkIdle returns an error unless all conversations are idle.
func (w *system) checkIdle() error {
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	all, err := w.list(ctx, fmt.Sprintf("WorkflowType = %q AND ExecutionStatus = 'Running'", conversation.WorkflowType))
	if err != nil {
		return err
	}
	busy, err := w.busy(ctx, all)
	if err == nil && len(busy) > 0 {
		err = fmt.Errorf("conversations are busy: %s%s", strings.Join(busy, " "), w.describe(busy))
	}
	return err
}

// describe returns the state and the decisions of up to five conversations.
func (w *system) describe(ids []string) string {
	var b strings.Builder
	for _, id := range ids[:min(len(ids), 5)] {
		ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
		var state json.RawMessage
		value, err := w.Client.QueryWorkflow(ctx, id, "", conversation.QueryName)
		if err == nil {
			err = value.Get(&state)
		}
		cancel()
		fmt.Fprintf(&b, "\n%s\n\tstate %s, error %v", id, state, err)
		decisions, err := w.decisions()
		if err != nil {
			fmt.Fprintf(&b, "\n\tledger: %v", err)
		}
		for _, d := range decisions {
			if d.place == placeOf(id) {
				fmt.Fprintf(&b, "\n\t%s %+v", clock(d.at), d)
			}
		}
	}
	return b.String()
}

// awaitDeliveries waits until Slack has delivered its events or given them up.
func (w *system) awaitDeliveries(within time.Duration) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	if err := w.Workspace.AwaitDeliveries(ctx); err != nil {
		return fmt.Errorf("undelivered events after %s: %w", within, err)
	}
	return nil
}

// catchUp reads the history of all channels again: by the schedule, as in production, or without
// the pauses between channels.
func (w *system) catchUp(scheduled bool, within time.Duration) (out workflows.CatchUpOutput, err error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	if !scheduled {
		run, err := w.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: conversation.TaskQueue}, workflows.CatchUpAll, workflows.CatchUpAllInput{})
		if err != nil {
			return out, err
		}
		return out, run.Get(ctx, &out)
	}
	// Slack has dropped events without a word.
	if _, err := w.db.ExecContext(ctx, "UPDATE gaps SET newest = newest + 1"); err != nil {
		return out, err
	}
	handle := w.Client.ScheduleClient().GetHandle(ctx, "catch-up")
	before, err := handle.Describe(ctx)
	if err != nil {
		return out, err
	}
	// A run may be under way that began before the last message.
	if err := handle.Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE}); err != nil {
		return out, err
	}
	for {
		now, err := handle.Describe(ctx)
		if err != nil {
			return out, err
		}
		if n := len(now.Info.RecentActions); now.Info.NumActions > before.Info.NumActions && n > 0 && len(now.Info.RunningWorkflows) == 0 {
			ran := now.Info.RecentActions[n-1].StartWorkflowResult
			return out, w.Client.GetWorkflow(ctx, ran.WorkflowID, ran.FirstExecutionRunID).Get(ctx, &out)
		}
		if !sleepUntil(ctx, time.Now().Add(200*time.Millisecond)) {
			return out, ctx.Err()
		}
	}
}
