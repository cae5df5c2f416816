package temporal

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/runtime/codec"
	"myao/test/testserver"
)

const errands = "errands" // a task queue and a signal of these tests

// Errand is a workflow. It receives its input and signals, passes the last one to an activity,
// and returns all.
func Errand(ctx workflow.Context, first string) ([]string, error) {
	received := []string{first}
	for received[len(received)-1] != "go" {
		var s string
		workflow.GetSignalChannel(ctx, errands).Receive(ctx, &s)
		received = append(received, s)
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	var done string
	if err := workflow.ExecuteActivity(ctx, CarryOut, "the order").Get(ctx, &done); err != nil {
		return nil, err
	}
	return append(received, done), nil
}

func CarryOut(_ context.Context, order string) (string, error) { return order + " is carried out", nil }

// keyring is a configuration of keys, one of them active, with bound payloads.
func keyring(active string, ids ...string) config.Encryption {
	keys := map[string]config.Secret{}
	for _, id := range ids {
		keys[id] = config.Secret(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(id[:1]), 32)))
	}
	return config.Encryption{ActiveKey: active, Keys: keys, BindPayloads: true}
}

// errand is a workflow with clients that have the old key, the new one, and both.
type errand struct {
	t              *testing.T
	old, new, both client.Client
}

func (e errand) work(c client.Client, o worker.Options) (stop func()) {
	e.t.Helper()
	return e.workAt(c, errands, o)
}

func (e errand) workAt(c client.Client, queue string, o worker.Options) (stop func()) {
	e.t.Helper()
	o.WorkerStopTimeout = time.Second
	w := worker.New(c, queue, o)
	if !o.DisableWorkflowWorker {
		w.RegisterWorkflow(Errand)
	}
	if !o.LocalActivityWorkerOnly {
		w.RegisterActivity(CarryOut)
	}
	if err := w.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(w.Stop)
	return w.Stop
}

func (e errand) start(c client.Client) {
	e.t.Helper()
	o := client.StartWorkflowOptions{ID: errands, TaskQueue: errands, WorkflowTaskTimeout: 2 * time.Second}
	if _, err := c.ExecuteWorkflow(e.t.Context(), o, Errand, "first"); err != nil {
		e.t.Fatal(err)
	}
}

func (e errand) signal(c client.Client, s string) {
	e.t.Helper()
	if err := c.SignalWorkflow(e.t.Context(), errands, "", errands, s); err != nil {
		e.t.Fatal(err)
	}
}

// stuck waits until a workflow task has failed because its key is missing.
func (e errand) stuck() {
	e.t.Helper()
	await(e.t, "a failed workflow task", func(context.Context) error {
		for _, event := range history(e.t, e.both, errands, "") {
			failed := event.GetWorkflowTaskFailedEventAttributes()
			if failed == nil {
				continue
			}
			if failed.Failure.Message != "Encoded failure" {
				e.t.Errorf("the failure is in clear text: %v", failed.Failure)
			}
			return nil
		}
		return errors.New("none yet")
	})
	if d, err := e.both.DescribeWorkflowExecution(e.t.Context(), errands, ""); err != nil || d.WorkflowExecutionInfo.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		e.t.Fatalf("%v, %v; want it to be running", d.GetWorkflowExecutionInfo(), err)
	}
}

func (e errand) done() {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), 3*time.Minute)
	defer cancel()
	var got []string
	err := e.both.GetWorkflow(ctx, errands, "").Get(ctx, &got)
	if want := []string{"first", "second", "go", "the order is carried out"}; err != nil || !slices.Equal(got, want) {
		e.t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// A payload whose key is missing waits until the key is back. The SDK alone would fail such a
// workflow, drop such a signal, and take such an activity result for a failure.
func TestNothingIsLostWhenAKeyIsMissing(t *testing.T) {
	for name, test := range map[string]func(errand){
		"input": func(e errand) {
			e.start(e.old)
			e.signal(e.new, "second")
			e.signal(e.new, "go")
			stop := e.work(e.new, worker.Options{})
			e.stuck()
			stop()
			e.work(e.both, worker.Options{})
		},
		"signal": func(e errand) {
			stop := e.work(e.new, worker.Options{})
			e.start(e.new)
			e.signal(e.old, "second")
			e.stuck()
			e.signal(e.new, "go")
			stop()
			e.work(e.both, worker.Options{})
		},
		"result of an activity": func(e errand) {
			stopWorkflows := e.work(e.new, worker.Options{LocalActivityWorkerOnly: true})
			e.work(e.both, worker.Options{DisableWorkflowWorker: true})
			e.start(e.new)
			e.signal(e.new, "second")
			e.signal(e.new, "go")
			e.stuck()
			stopWorkflows()
			e.work(e.both, worker.Options{})
		},
		"input of an activity": func(e errand) {
			e.work(e.both, worker.Options{LocalActivityWorkerOnly: true})
			stopActivities := e.work(e.old, worker.Options{DisableWorkflowWorker: true})
			e.start(e.both)
			e.signal(e.both, "second")
			e.signal(e.both, "go")
			await(e.t, "a later attempt", func(ctx context.Context) error {
				d, err := e.both.DescribeWorkflowExecution(ctx, errands, "")
				if err != nil || len(d.PendingActivities) != 1 {
					return fmt.Errorf("%v, %v", d.GetPendingActivities(), err)
				}
				pending := d.PendingActivities[0]
				info := pending.GetLastFailure().GetApplicationFailureInfo()
				if pending.Attempt < 3 || info.GetType() != "Unreadable" || info.GetNextRetryDelay().AsDuration() < 4*time.Second {
					return fmt.Errorf("attempt %d after %v", pending.Attempt, pending.LastFailure)
				}
				return nil
			})
			stopActivities()
			e.work(e.both, worker.Options{DisableWorkflowWorker: true})
		},
	} {
		ns := namespace(t, testserver.Temporal(t))
		e := errand{
			old: dialWith(t, ns, keyring("old", "old")), new: dialWith(t, ns, keyring("new", "new")),
			both: dialWith(t, ns, keyring("new", "old", "new")),
		}
		if name == "result of an activity" {
			e.both = dialWith(t, ns, keyring("old", "old", "new"))
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e.t = t
			await(t, "the namespace", func(ctx context.Context) error {
				_, err := e.both.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{})
				return err
			})
			test(e)
			e.done()
		})
	}
}

// Whoever can write to Temporal's database can hand a workflow what was written for another.
func TestAPayloadOfAnotherWorkflowIsRefused(t *testing.T) {
	ns := namespace(t, testserver.Temporal(t))
	keyed := dialWith(t, ns, keyring("key", "key"))
	e := errand{t: t, both: keyed}
	await(t, "the namespace", func(ctx context.Context) error {
		_, err := keyed.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{})
		return err
	})
	o := client.StartWorkflowOptions{ID: "elsewhere", TaskQueue: errands}
	if _, err := keyed.SignalWithStartWorkflow(t.Context(), o.ID, errands, "go", o, Errand, "first"); err != nil {
		t.Fatal(err)
	}
	var signal *commonpb.Payloads
	for _, event := range history(t, keyed, o.ID, "") {
		if a := event.GetWorkflowExecutionSignaledEventAttributes(); a != nil {
			signal = a.Input
		}
	}
	e.start(keyed)
	if _, err := keyed.WorkflowService().SignalWorkflowExecution(t.Context(), &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: ns, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: errands}, SignalName: errands, Input: signal,
	}); err != nil {
		t.Fatal(err)
	}
	e.work(keyed, worker.Options{})
	e.stuck()
	for _, event := range history(t, keyed, errands, "") {
		if failed := event.GetWorkflowTaskFailedEventAttributes(); failed != nil {
			said := codecOf(t, keyring("key", "key")).FailureConverter().FailureToError(failed.Failure).Error()
			for _, want := range []string{`workflow "elsewhere" of namespace "` + ns, `workflow "errands" of namespace "` + ns} {
				if !strings.Contains(said, want) {
					t.Errorf("the task failed with %q, want it to name %s", said, want)
				}
			}
		}
	}
	// Where it belongs it is read.
	var got []string
	if err := keyed.GetWorkflow(t.Context(), o.ID, "").Get(t.Context(), &got); err != nil || !slices.Equal(got, []string{"first", "go", "the order is carried out"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func codecOf(t *testing.T, e config.Encryption) *codec.Codec {
	t.Helper()
	c, err := codec.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A run gets its schedule's input, which was written before the run had an id.
func TestARunReadsTheInputOfItsSchedule(t *testing.T) {
	ns := namespace(t, testserver.Temporal(t))
	keyed := dialWith(t, ns, keyring("key", "key"))
	schedule := Schedule{ID: "schedule", Every: time.Hour, Workflow: Errand, Args: []any{"go"}, Note: "a test"}
	await(t, "the schedule", func(ctx context.Context) error { return EnsureSchedule(ctx, keyed, schedule) })
	if err := EnsureSchedule(t.Context(), keyed, schedule); err != nil { // reads and updates it
		t.Fatal(err)
	}
	if err := keyed.ScheduleClient().GetHandle(t.Context(), schedule.ID).Trigger(t.Context(), client.ScheduleTriggerOptions{}); err != nil {
		t.Fatal(err)
	}
	errand{t: t}.workAt(keyed, conversation.TaskQueue, worker.Options{})
	await(t, "its run", func(ctx context.Context) error {
		list, err := keyed.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'Errand'"})
		if err != nil || len(list.Executions) == 0 {
			return fmt.Errorf("%v, %v", list, err)
		}
		var got []string
		id := list.Executions[0].Execution.WorkflowId
		if err := keyed.GetWorkflow(ctx, id, "").Get(ctx, &got); err != nil || !strings.HasPrefix(id, "schedule-") {
			t.Fatalf("%s: %q, %v", id, got, err)
		}
		return nil
	})
}

// Without a key nobody can read a channel's name, or when its thread began. The longest name still
// fits a summary after encryption.
func TestTheSummaryIsEncrypted(t *testing.T) {
	ns := namespace(t, testserver.Temporal(t))
	key := strings.Repeat("k", 80-len(ns))
	plain, keyed := dialWith(t, ns, config.Encryption{}), dialWith(t, ns, keyring(key, key))
	name := strings.Repeat("🤫", 80)
	s := Sender{Client: keyed, Attributes: never, Name: func(context.Context, string, string) string { return name }}
	conv := chat.Conversation{Team: "T0123456789", Channel: "C0123456789", Thread: "1709287200.000100"}
	await(t, "the namespace", func(ctx context.Context) error { return s.Send(ctx, conv, signal("1.1"), "request") })
	described := func(c client.Client) (string, error) {
		d, err := c.DescribeWorkflow(t.Context(), conv.ID(), "")
		if err != nil {
			return "", err
		}
		return d.GetStaticSummary()
	}
	if got, err := described(keyed); err != nil || !strings.HasPrefix(got, "#🤫🤫") {
		t.Errorf("with the key it is %q, %v", got, err)
	}
	if got, err := described(plain); err == nil || got != "" {
		t.Errorf("without a key it is %q", got)
	}
}

func dialWith(t *testing.T, ns string, encryption config.Encryption) client.Client {
	t.Helper()
	t.Setenv("TEMPORAL_ADDRESS", testserver.Temporal(t))
	t.Setenv("TEMPORAL_NAMESPACE", ns)
	c, err := NewClient(encryption, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
