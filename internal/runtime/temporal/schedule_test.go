package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"myao/internal/conversation"
	"myao/test/testserver"
)

// Round is the workflow that the schedules of these tests run. It lasts as long as its argument
// says.
func Round(ctx workflow.Context, lasts time.Duration) error { return workflow.Sleep(ctx, lasts) }

func round(id string) Schedule {
	return Schedule{
		ID: id, Every: time.Hour, CatchUp: 10 * time.Minute, Workflow: Round, Args: []any{time.Duration(0)}, Timeout: time.Hour, Note: "goes round",
	}
}

// own creates a namespace and returns a client for it.
func own(t *testing.T) (client.Client, string) {
	t.Helper()
	name := namespace(t, testserver.Temporal(t))
	c := dial(t, name)
	await(t, "the namespace", func(ctx context.Context) error {
		_, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{})
		return err
	})
	return c, name
}

func dial(t *testing.T, namespace string, o ...grpc.DialOption) client.Client {
	t.Helper()
	c, err := client.NewLazyClient(client.Options{
		HostPort: testserver.Temporal(t), Namespace: namespace, Logger: slog.New(slog.DiscardHandler),
		ConnectionOptions: client.ConnectionOptions{DialOptions: o},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func ensure(t *testing.T, c client.Client, s Schedule) {
	t.Helper()
	if err := EnsureSchedule(t.Context(), c, s); err != nil {
		t.Fatal(err)
	}
}

// is waits until the server describes a schedule as wanted: it applies changes asynchronously.
func is(t *testing.T, c client.Client, s Schedule, state client.ScheduleState) {
	t.Helper()
	await(t, "schedule "+s.ID, func(ctx context.Context) error {
		d, err := c.ScheduleClient().GetHandle(ctx, s.ID).Describe(ctx)
		if err != nil {
			return err
		}
		intervals := []client.ScheduleIntervalSpec{{Every: s.Every}}
		policy := client.SchedulePolicies{Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: s.CatchUp}
		action := d.Schedule.Action.(*client.ScheduleWorkflowAction)
		var args []any
		for _, a := range action.Args {
			var arg time.Duration
			if err := converter.GetDefaultDataConverter().FromPayload(a.(*commonpb.Payload), &arg); err != nil {
				t.Fatal(err)
			}
			args = append(args, arg)
		}
		if !slices.Equal(d.Schedule.Spec.Intervals, intervals) || *d.Schedule.Policy != policy || *d.Schedule.State != state ||
			action.ID != s.ID || action.Workflow != "Round" || action.TaskQueue != conversation.TaskQueue ||
			action.StaticSummary != s.Note || action.WorkflowExecutionTimeout != s.Timeout || !reflect.DeepEqual(args, s.Args) {
			return fmt.Errorf("is %+v, %+v, %+v, %+v of %v", d.Schedule.Spec.Intervals, *d.Schedule.Policy, *d.Schedule.State, *action, args)
		}
		return nil
	})
}

func TestEnsureScheduleCreatesAndUpdates(t *testing.T) {
	t.Parallel()
	c, _ := own(t)
	s := round("memory")
	ensure(t, c, s)
	is(t, c, s, client.ScheduleState{Note: s.Note})
	ensure(t, c, s)
	is(t, c, s, client.ScheduleState{Note: s.Note})
	s.Every, s.CatchUp, s.Args, s.Note = 30*time.Minute, time.Hour, []any{time.Minute}, "goes round faster"
	ensure(t, c, s)
	is(t, c, s, client.ScheduleState{Note: s.Note})

	// Somebody changes the schedule by hand.
	err := c.ScheduleClient().GetHandle(t.Context(), s.ID).Update(t.Context(), client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			changed := in.Description.Schedule
			changed.Policy.Overlap, changed.Policy.PauseOnFailure = enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL, true
			return &client.ScheduleUpdate{Schedule: &changed}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "that change", func(ctx context.Context) error {
		d, err := c.ScheduleClient().GetHandle(ctx, s.ID).Describe(ctx)
		if err == nil && !d.Schedule.Policy.PauseOnFailure {
			err = errors.New("not yet")
		}
		return err
	})
	ensure(t, c, s)
	is(t, c, s, client.ScheduleState{Note: s.Note})
}

func TestAPausedScheduleStaysPaused(t *testing.T) {
	t.Parallel()
	c, _ := own(t)
	s := round("memory")
	ensure(t, c, s)
	paused := client.ScheduleState{Paused: true, Note: "too dear, says carol"}
	if err := c.ScheduleClient().GetHandle(t.Context(), s.ID).Pause(t.Context(), client.SchedulePauseOptions{Note: paused.Note}); err != nil {
		t.Fatal(err)
	}
	is(t, c, s, paused)
	s.Every, s.Note = time.Minute, "goes round every minute"
	ensure(t, c, s)
	is(t, c, s, paused)
	if err := c.ScheduleClient().GetHandle(t.Context(), s.ID).Unpause(t.Context(), client.ScheduleUnpauseOptions{Note: "go on"}); err != nil {
		t.Fatal(err)
	}
	is(t, c, s, client.ScheduleState{Note: "go on"})
	ensure(t, c, s)
	is(t, c, s, client.ScheduleState{Note: s.Note})
}

func TestConcurrentEnsureSchedule(t *testing.T) {
	t.Parallel()
	c, _ := own(t)
	var group sync.WaitGroup
	for range 3 { // starters
		group.Go(func() {
			for _, id := range []string{"memory", "catch-up", "channel-sync"} {
				if err := EnsureSchedule(t.Context(), c, round(id)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for _, id := range []string{"memory", "catch-up", "channel-sync"} {
		is(t, c, round(id), client.ScheduleState{Note: round(id).Note})
	}
}

// The shortest interval of the configuration is a second, and a run may take longer.
func TestScheduledRunsDoNotOverlap(t *testing.T) {
	t.Parallel()
	c, _ := own(t)
	w := worker.New(c, conversation.TaskQueue, worker.Options{})
	w.RegisterWorkflow(Round)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	s := round("memory")
	s.Every, s.Args = time.Second, []any{1500 * time.Millisecond}
	ensure(t, c, s)
	var runs []client.ScheduleActionResult
	await(t, "three runs", func(ctx context.Context) error {
		d, err := c.ScheduleClient().GetHandle(ctx, s.ID).Describe(ctx)
		if err != nil {
			return err
		}
		runs = d.Info.RecentActions
		if len(d.Info.RunningWorkflows) > 1 {
			t.Errorf("%d concurrent runs", len(d.Info.RunningWorkflows))
		}
		if len(runs) < 3 || d.Info.NumActionsSkippedOverlap < 2 {
			return fmt.Errorf("%d runs, %d skipped", len(runs), d.Info.NumActionsSkippedOverlap)
		}
		return nil
	})
	first := runs[0].StartWorkflowResult
	d, err := c.DescribeWorkflow(t.Context(), first.WorkflowID, first.FirstExecutionRunID)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first.WorkflowID, "memory-20") || d.WorkflowType.Name != "Round" || d.TaskQueueName != conversation.TaskQueue {
		t.Errorf("%s: %+v", first.WorkflowID, d.WorkflowExecutionMetadata)
	}
	if summary, err := d.GetStaticSummary(); err != nil || summary != s.Note {
		t.Errorf("summary %q, %v; want %q", summary, err, s.Note)
	}
	started := history(t, c, first.WorkflowID, first.FirstExecutionRunID)[0].GetWorkflowExecutionStartedEventAttributes()
	var lasts time.Duration
	if err := converter.GetDefaultDataConverter().FromPayloads(started.GetInput(), &lasts); err != nil || lasts != s.Args[0] {
		t.Errorf("its argument is %v, %v; want %v", lasts, err, s.Args[0])
	}
}

// An invalid schedule, and a missing permission, are errors.
func TestEnsureScheduleErrors(t *testing.T) {
	t.Parallel()
	c, name := own(t)
	s := round("memory")
	s.Every = 500 * time.Millisecond
	var invalid *serviceerror.InvalidArgument
	if err := EnsureSchedule(t.Context(), c, s); !errors.As(err, &invalid) || !strings.HasPrefix(err.Error(), "create schedule memory: ") {
		t.Errorf("an interval below a second: %v", err)
	}
	ensure(t, c, round("memory"))
	var denied *serviceerror.PermissionDenied
	for method, says := range map[string]string{
		"CreateSchedule": "create schedule memory: ", "DescribeSchedule": "update schedule memory: ", "UpdateSchedule": "update schedule memory: ",
	} {
		if err := EnsureSchedule(t.Context(), dial(t, name, deny(method)), round("memory")); !errors.As(err, &denied) || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%s is denied: %v", method, err)
		}
	}
}

// deny makes a method end with PermissionDenied.
func deny(method string) grpc.DialOption {
	return refuse(method, codes.PermissionDenied, "not for you")
}

// refuse makes a method end with an error.
func refuse(method string, code codes.Code, says string) grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, called string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
			if strings.HasSuffix(called, "/"+method) {
				return status.Error(code, says)
			}
			return invoke(ctx, called, req, reply, cc, o...)
		})
}
