package chaos

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/operate/doctor"
	"myao/test/testserver"
)

// TestStuck breaks the code of a conversation's workflow on a server that reports that, which the dev
// server does not: the doctor names the conversation and the cause until it gets on again.
func TestStuck(t *testing.T) {
	if *flagTemporal != "postgres" {
		t.Skip("the dev server reports no workflows whose tasks fail; make topology runs it on one that does")
	}
	server := testserver.StartTemporalOnPostgres(t, testserver.StartPostgres(t), 4, nil)
	dial := func() (client.Client, error) {
		return client.NewLazyClient(client.Options{HostPort: server.Address, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	}
	c, err := dial()
	testserver.Must(t, err)
	t.Cleanup(c.Close)
	run := func(conversationWorkflow func(workflow.Context) error) (stop func()) {
		t.Helper()
		w := worker.New(c, conversation.TaskQueue, worker.Options{})
		w.RegisterWorkflowWithOptions(conversationWorkflow, workflow.RegisterOptions{Name: conversation.WorkflowType})
		testserver.Must(t, w.Start())
		return w.Stop
	}
	names := func(status doctor.Status, says string) {
		t.Helper()
		d := doctor.Doctor{Config: config.Default(), Dial: dial, Address: server.Address, Namespace: client.DefaultNamespace, Clock: time.Now}
		ran := testserver.MeasureRunning()
		for {
			findings := d.ExamineOnly(t.Context(), "temporal", "namespace", "stuck")
			f := findings[slices.IndexFunc(findings, func(f doctor.Finding) bool { return f.Check == "stuck" })]
			if f.Status == status && strings.Contains(f.Message+" → "+f.Fix, says) {
				return
			}
			if ran() > 3*time.Minute {
				t.Fatalf("the doctor says %+v, want %s with %q", f, status, says)
			}
			time.Sleep(time.Second)
		}
	}
	started, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "thread/T1/C1/1.000001", TaskQueue: conversation.TaskQueue}, conversation.WorkflowType)
	testserver.Must(t, err)
	names(doctor.OK, "no workflow's tasks fail")
	stop := run(func(workflow.Context) error { panic("broken") })
	names(doctor.Fail, "thread/T1/C1/1.000001 (WorkflowWorkerUnhandledFailure) → NonDeterministicError: start the workers of the version before")
	stop()
	t.Cleanup(run(func(workflow.Context) error { return nil }))
	names(doctor.OK, "no workflow's tasks fail")
	if err := started.Get(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
