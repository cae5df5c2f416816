package doctor

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/types/known/timestamppb"

	"myao/internal/conversation"
	"myao/test/testserver"
)

// Workers are counted by version. One that has stopped its heartbeats is named, and so is one that lives
// and does not poll.
func TestWorkers(t *testing.T) {
	t.Parallel()
	server := testserver.StartTemporal(t, "", 0, // later versions have these on
		"--dynamic-config-value", "frontend.WorkerHeartbeatsEnabled=true", "--dynamic-config-value", "frontend.ListWorkersEnabled=true")
	c, err := client.NewLazyClient(client.Options{HostPort: server.Address, Identity: "1@here@", Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	testserver.Must(t, err)
	t.Cleanup(c.Close)
	start := func(queue string) {
		t.Helper()
		w := worker.New(c, queue, worker.Options{})
		w.RegisterActivityWithOptions(func() error { return nil }, activity.RegisterOptions{Name: "Nothing"})
		testserver.Must(t, w.Start())
		t.Cleanup(w.Stop)
	}
	e := &examination{Doctor: Doctor{Namespace: client.DefaultNamespace, Clock: time.Now}, temporal: c}
	beat := func(identity, queue string, ago time.Duration, used int32) {
		t.Helper()
		if _, err := c.WorkflowService().RecordWorkerHeartbeat(t.Context(), &workflowservice.RecordWorkerHeartbeatRequest{
			Namespace: client.DefaultNamespace, Identity: identity, WorkerHeartbeat: []*workerpb.WorkerHeartbeat{{
				WorkerInstanceKey: identity + queue, WorkerIdentity: identity, TaskQueue: queue, Status: enumspb.WORKER_STATUS_RUNNING,
				HeartbeatTime: timestamppb.New(time.Now().Add(-ago)), ActivityTaskSlotsInfo: &workerpb.WorkerSlotsInfo{CurrentUsedSlots: used},
			}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	start(conversation.TaskQueue)
	start(conversation.ModelTaskQueue)
	says := func(status Status, text string) {
		t.Helper()
		until(t, text, func() bool {
			f := e.workers(t.Context())
			return f.Status == status && strings.Contains(f.Message+" → "+f.Fix, text)
		})
	}
	says(Fail, "no worker polls myao-tools (activities) → start a worker")
	beat("2@there@", conversation.ToolsTaskQueue, -time.Hour, 100) // it lives, however long the test takes
	says(Fail, "although these live: 2@there@ with 100 of 100 slots of myao-tools in use → see in the workers' log")
	start(conversation.ToolsTaskQueue)
	says(OK, "; last polled: myao (workflows) by 1 worker")
	// Without a deployment the SDK's version is a hash of the program.
	if f := e.workers(t.Context()); !regexp.MustCompile("^1 worker of version [0-9a-f]{32};").MatchString(f.Message) {
		t.Errorf("%q does not say which version runs", f.Message)
	}
	beat("3@gone@", conversation.TaskQueue, 3*time.Minute, 0)
	says(Warn, "without a heartbeat for more than 2 minutes: 3@gone@ → see whether")
}
