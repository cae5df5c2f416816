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
	"myao/internal/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

func served(t *testing.T) client.Client {
	t.Helper()
	c, err := client.NewLazyClient(client.Options{HostPort: testserver.Temporal(t), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// until waits for something that the server comes to by itself.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain for " + what)
		}
	}
}

// A schedule that begins nothing any more is told of, and only where nothing keeps it.
func TestAScheduleThatHasStopped(t *testing.T) {
	t.Parallel()
	c := served(t)
	hourly := Schedule{ID: fmt.Sprint("stopped-", time.Now().UnixNano()), Every: time.Hour}
	handle, err := c.ScheduleClient().Create(t.Context(), client.ScheduleOptions{
		ID: hourly.ID, Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: 1000 * time.Hour}}}, // in vain
		Action: &client.ScheduleWorkflowAction{ID: hourly.ID, Workflow: "Nothing", TaskQueue: "doctor-nobody"},
	})
	if err != nil {
		t.Fatal(err)
	}
	look := func(after time.Duration) Finding {
		e := &examination{Doctor: Doctor{Clock: shifted(after), Schedules: []Schedule{hourly}}, temporal: c}
		return e.lastRun(hourly.ID)(t.Context())
	}
	expect(t, look(2*time.Hour), OK, "has yet to run for the first time")
	expect(t, look(3*time.Hour), Warn, "nothing has begun for 3 hours, and a run is due every 60 minutes")

	// One that is paused is told of elsewhere.
	if err := handle.Pause(t.Context(), client.SchedulePauseOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(t, look(3*time.Hour), OK, "has yet to run for the first time")
	if err := handle.Unpause(t.Context(), client.ScheduleUnpauseOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(t, look(3*time.Hour), Warn, "nothing has begun")

	// Where a run is under way, the next one waits for its end.
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
	expect(t, look(3*time.Hour), Warn, "and runs still")
	if err := c.TerminateWorkflow(t.Context(), id, "", ""); err != nil {
		t.Fatal(err)
	}
	until(t, "its end", func() bool {
		d, err := handle.Describe(t.Context())
		return err == nil && len(d.Info.RunningWorkflows) == 0
	})
	expect(t, look(3*time.Hour), Warn, "nothing has begun for 3 hours")
	expect(t, look(time.Hour), Warn, "is terminated")
}

// What somebody pauses by hand is named, for as long as it is.
func TestWhatIsPaused(t *testing.T) {
	t.Parallel()
	c := served(t)
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
	until(t, "that to be known", func() bool { return e.paused(t.Context()).Status == Warn })
	expect(t, e.paused(t.Context()), Warn, "channel/T1/C1")
	if _, err := c.WorkflowService().UnpauseActivity(t.Context(), &workflowservice.UnpauseActivityRequest{
		Namespace: client.DefaultNamespace, Execution: execution, Activity: &workflowservice.UnpauseActivityRequest_Type{Type: "Compose"},
	}); err != nil {
		t.Fatal(err)
	}
	until(t, "that to be over", func() bool { return e.paused(t.Context()).Status == OK })
	if err := c.TerminateWorkflow(t.Context(), run.GetID(), "", ""); err != nil {
		t.Fatal(err)
	}
}
