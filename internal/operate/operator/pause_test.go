package operator

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"myao/internal/conversation"
)

// pausing is a client of a server that pauses runs, as Temporal 1.32 does if configured. It answers
// like that server.
type pausing struct {
	client.Client
	at time.Time
}

func (p pausing) DescribeWorkflowExecution(ctx context.Context, id, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	d, err := p.Client.DescribeWorkflowExecution(ctx, id, run)
	if err == nil {
		d.WorkflowExecutionInfo.Status = enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED
		d.WorkflowExtendedInfo.PauseInfo = &workflowpb.WorkflowExecutionPauseInfo{Identity: "carol", Reason: "looking into it", PausedTime: timestamppb.New(p.at)}
	}
	return d, err
}

func (p pausing) UpdateWithStartWorkflow(context.Context, client.UpdateWithStartWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	return nil, serviceerror.NewFailedPrecondition("Workflow is paused. Cannot update the workflow.")
}

// ListWorkflow lists the paused runs instead of the running ones.
func (p pausing) ListWorkflow(ctx context.Context, r *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	if !strings.Contains(r.Query, "ExecutionStatus = 'Paused'") {
		return &workflowservice.ListWorkflowExecutionsResponse{}, nil
	}
	r.Query = strings.ReplaceAll(r.Query, "'Paused'", "'Running'")
	return p.Client.ListWorkflow(ctx, r)
}

// QueryWorkflow fails, because a paused run answers no query.
func (p pausing) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	return nil, errors.New("query rejected: Paused")
}

func TestPausedRun(t *testing.T) {
	w := newWorld(t, false)
	w.says(thread, 3600, conversation.Waiting)
	real, at := w.Client, time.Unix(1772366400, 0).UTC()
	w.Client = pausing{real, at}
	pause := Pause{At: at, By: "carol", Reason: "looking into it"}

	state, run, err := w.show(thread)
	if err != nil || state != nil || !run.Running || run.ID == "" || !reflect.DeepEqual(run.Paused, []Pause{pause}) {
		t.Errorf("shown as %+v, %+v, %v", state, run, err)
	}
	var no *PausedError
	err = w.Order(t.Context(), thread, conversation.UpdateDrop, carol, "")
	if !errors.As(err, &no) || *no != (PausedError{pause, thread.ID()}) || errors.Is(err, ErrNoWorker) {
		t.Errorf("ordered: %v", err)
	}
	for _, phases := range [][]conversation.Phase{nil, {conversation.Waiting}, {conversation.Judging}} {
		w.await("visibility", func() bool {
			all, err := w.Conversations(t.Context(), Filter{Phases: phases})
			return err == nil && summaries(all) == "paused C1/1700000000.000100"
		})
	}

	w.Client = real
	if s, running, err := w.State(t.Context(), thread); err != nil || !running || s.Phase != conversation.Waiting {
		t.Errorf("unpaused: %+v, %v, %v", s, running, err)
	}
}

func TestPauses(t *testing.T) {
	t.Parallel()
	at := time.Unix(1772366400, 0).UTC()
	activity := func(name string, paused bool) *workflowpb.PendingActivityInfo {
		return &workflowpb.PendingActivityInfo{ActivityType: &commonpb.ActivityType{Name: name}, Paused: paused, PauseInfo: &workflowpb.PendingActivityInfo_PauseInfo{
			PauseTime: timestamppb.New(at),
			PausedBy: &workflowpb.PendingActivityInfo_PauseInfo_Manual_{
				Manual: &workflowpb.PendingActivityInfo_PauseInfo_Manual{Identity: "carol", Reason: "costs"},
			},
		}}
	}
	for _, test := range []struct {
		name  string
		run   *workflowservice.DescribeWorkflowExecutionResponse
		want  []Pause
		whole bool
	}{
		{"nothing", &workflowservice.DescribeWorkflowExecutionResponse{
			WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING},
			PendingActivities:     []*workflowpb.PendingActivityInfo{activity("Judge", false)},
		}, nil, false},
		{"an activity", &workflowservice.DescribeWorkflowExecutionResponse{
			WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING},
			PendingActivities:     []*workflowpb.PendingActivityInfo{activity("Settle", false), activity("Compose", true)},
		}, []Pause{{"Compose", at, "carol", "costs"}}, false},
		{"all, by nobody knows whom", &workflowservice.DescribeWorkflowExecutionResponse{
			WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED},
			WorkflowExtendedInfo:  &workflowpb.WorkflowExecutionExtendedInfo{PauseInfo: &workflowpb.WorkflowExecutionPauseInfo{PausedTime: timestamppb.New(at)}},
			PendingActivities:     []*workflowpb.PendingActivityInfo{activity("Compose", true)},
		}, []Pause{{At: at}, {"Compose", at, "carol", "costs"}}, true},
	} {
		if got := pauses(test.run); !reflect.DeepEqual(got, test.want) || (Run{Paused: got}.Whole() != nil) != test.whole {
			t.Errorf("%s: %+v; want %+v, %v", test.name, got, test.want, test.whole)
		}
	}
}
