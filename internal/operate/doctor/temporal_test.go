package doctor

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/internal/conversation"
	"myao/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

func temporalClient(t *testing.T) client.Client {
	t.Helper()
	c, err := client.NewLazyClient(client.Options{HostPort: testserver.Temporal(t), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// until waits for a condition that the server reaches on its own.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("timed out waiting for " + what)
		}
	}
}

// A Schedule that no longer begins runs is reported, unless a pause or a run explains it.
func TestAScheduleThatHasStopped(t *testing.T) {
	t.Parallel()
	c := temporalClient(t)
	hourly := Schedule{ID: fmt.Sprint("stopped-", time.Now().UnixNano()), Every: time.Hour}
	handle, err := c.ScheduleClient().Create(t.Context(), client.ScheduleOptions{
		// never in this test
		ID: hourly.ID, Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: 1000 * time.Hour}}},
		Action: &client.ScheduleWorkflowAction{ID: hourly.ID, Workflow: "Nothing", TaskQueue: "doctor-nobody"},
	})
	if err != nil {
		t.Fatal(err)
	}
	newestRun := func(after time.Duration) Finding {
		e := &examination{Doctor: Doctor{Clock: shifted(after), Schedules: []Schedule{hourly}}, temporal: c}
		return e.lastRun(hourly.ID)(t.Context())
	}
	expect(t, newestRun(2*time.Hour), OK, "has not run yet")
	expect(t, newestRun(3*time.Hour), Warn, "no run has begun for 3 hours, although one is due every 60 minutes")

	// Another check reports a paused Schedule.
	if err := handle.Pause(t.Context(), client.SchedulePauseOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(t, newestRun(3*time.Hour), OK, "has not run yet")
	if err := handle.Unpause(t.Context(), client.ScheduleUnpauseOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(t, newestRun(3*time.Hour), Warn, "no run has begun")

	// While a run is under way, the next one waits for it.
	if err := handle.Trigger(t.Context(), client.ScheduleTriggerOptions{}); err != nil {
		t.Fatal(err)
	}
	var id string
	until(t, "a run", func() bool {
		d, err := handle.Describe(t.Context())
		if err != nil || len(d.Info.RunningWorkflows) == 0 {
			return false
		}
		id = d.Info.RunningWorkflows[0].WorkflowID
		return true
	})
	expect(t, newestRun(3*time.Hour), Warn, "and is still running")
	if err := c.TerminateWorkflow(t.Context(), id, "", ""); err != nil {
		t.Fatal(err)
	}
	until(t, "its end", func() bool {
		d, err := handle.Describe(t.Context())
		return err == nil && len(d.Info.RunningWorkflows) == 0
	})
	expect(t, newestRun(3*time.Hour), Warn, "no run has begun for 3 hours")
	expect(t, newestRun(time.Hour), Warn, "is terminated")
}

// A paused activity is reported until somebody unpauses it.
func TestPausedActivities(t *testing.T) {
	t.Parallel()
	c := temporalClient(t)
	e := &examination{Doctor: Doctor{Namespace: client.DefaultNamespace}, temporal: c}
	expect(t, e.paused(t.Context()), OK, "no activity is paused")
	w := worker.New(c, conversation.TaskQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, TaskQueue: "doctor-nobody"})
		return workflow.ExecuteActivity(ctx, "Compose").Get(ctx, nil)
	}, workflow.RegisterOptions{Name: conversation.WorkflowType})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "channel/T1/C1", TaskQueue: conversation.TaskQueue}, conversation.WorkflowType)
	if err != nil {
		t.Fatal(err)
	}
	execution := &commonpb.WorkflowExecution{WorkflowId: run.GetID()}
	until(t, "the activity to be paused", func() bool {
		_, err := c.WorkflowService().PauseActivity(t.Context(), &workflowservice.PauseActivityRequest{
			Namespace: client.DefaultNamespace, Execution: execution, Activity: &workflowservice.PauseActivityRequest_Type{Type: "Compose"},
		})
		return err == nil
	})
	until(t, "the check to see that", func() bool { return e.paused(t.Context()).Status == Warn })
	expect(t, e.paused(t.Context()), Warn, "channel/T1/C1")
	if _, err := c.WorkflowService().UnpauseActivity(t.Context(), &workflowservice.UnpauseActivityRequest{
		Namespace: client.DefaultNamespace, Execution: execution, Activity: &workflowservice.UnpauseActivityRequest_Type{Type: "Compose"},
	}); err != nil {
		t.Fatal(err)
	}
	until(t, "the check to see its end", func() bool { return e.paused(t.Context()).Status == OK })
	if err := c.TerminateWorkflow(t.Context(), run.GetID(), "", ""); err != nil {
		t.Fatal(err)
	}
}
