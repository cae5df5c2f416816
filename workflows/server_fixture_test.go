package workflows

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"myao/activities"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/runtime/temporal"
	"myao/test/testserver"
)

var quiet = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))

// server is a namespace on a real server, with workers whose activities follow a script and
// record their calls.
type server struct {
	script
	of        workspace // for the background workflows
	t         *testing.T
	client    client.Client
	address   string
	namespace string
	warnings  *warnings
	// attributes is set if the namespace knows the search attributes.
	attributes bool
	// flow is the workflow of conversations; nil: Conversation.
	flow    func(workflow.Context, conversation.Input) error
	probes  int           // conversations that find out which version new runs have
	timeout time.Duration // of await

	mu      sync.Mutex
	record  []string // "thread/T1/C1/1.000000 post 2.000000"
	changed chan struct{}
	infos   map[string]activity.Info // of the newest "post"
	noted   map[string]bool          // the activities that have a line
}

// newServer uses the server that all tests share, and starts workers.
func newServer(t *testing.T) *server {
	t.Helper()
	t.Parallel()
	s := newServerAt(t, testserver.Temporal(t))
	t.Cleanup(s.startWorkers(worker.Options{}))
	return s
}

func newServerAt(t *testing.T, address string) *server {
	t.Helper()
	s := &server{
		script: allSucceed(), t: t, address: address, namespace: strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")),
		warnings: &warnings{}, timeout: 3 * time.Minute, changed: make(chan struct{}), infos: map[string]activity.Info{},
		noted: map[string]bool{},
	}
	s.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] { return yes(0) }
	admin, err := client.NewNamespaceClient(client.Options{HostPort: address, Logger: quiet, ConnectionOptions: testserver.PatientCalls()})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := admin.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: s.namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	if s.client, err = client.NewLazyClient(client.Options{
		HostPort: address, Namespace: s.namespace, Identity: "test", ConnectionOptions: testserver.PatientCalls(),
		Logger: sdklog.NewStructuredLogger(slog.New(s.warnings)),
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.client.Close()
		for _, w := range s.warnings.containing("unhandled signals") {
			t.Error(w)
		}
	})
	s.await("the namespace", func() bool { // each service of the server learns of it separately
		_, err := s.client.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{})
		_, of := s.client.DescribeWorkflowExecution(t.Context(), "none", "")
		_, known := errors.AsType[*serviceerror.NotFound](of)
		return err == nil && known
	})
	return s
}

// startWorkers starts workers of all task queues, as one process has them.
func (s *server) startWorkers(o worker.Options) (stop func()) {
	s.t.Helper()
	o.MaxHeartbeatThrottleInterval = 100 * time.Millisecond // cancelled activities learn of it soon
	o.DeadlockDetectionTimeout = 3 * time.Minute            // the machine may be busy
	var workers []worker.Worker
	for _, queue := range []string{conversation.TaskQueue, conversation.ModelTaskQueue, conversation.ToolsTaskQueue} {
		w := worker.New(s.client, queue, o)
		if queue == conversation.TaskQueue {
			register(w, s.flow)
		}
		for _, all := range []map[string]any{s.activities(), s.backgroundActivities()} {
			for name, do := range all {
				w.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name})
			}
		}
		workers = append(workers, w)
	}
	for _, w := range workers {
		if err := w.Start(); err != nil {
			s.t.Fatal(err)
		}
	}
	return func() {
		for _, w := range workers {
			w.Stop()
		}
	}
}

func (s *server) activities() map[string]any {
	return map[string]any{
		"Judge": func(ctx context.Context, in activities.JudgeInput) (activities.JudgeOutput, error) {
			s.note(ctx, in.Task, "judge")
			return perform(ctx, s.judge(in))
		},
		"Compose": func(ctx context.Context, in activities.ComposeInput) (activities.ReplyOutput, error) {
			s.note(ctx, in.Task, "compose")
			return perform(ctx, s.compose(in))
		},
		"Look": func(ctx context.Context, in activities.LookInput) error {
			s.note(ctx, in.Task, "look "+in.Step)
			_, err := perform(ctx, s.look(in))
			return err
		},
		"Act": func(ctx context.Context, in activities.ProposalInput) (activities.ActOutput, error) {
			s.note(ctx, activities.Task{Conversation: in.Conversation, Trigger: in.Trigger}, "act "+in.Proposal)
			return perform(ctx, s.act(in))
		},
		"ShowProposal": func(ctx context.Context, in activities.ProposalInput) error {
			s.note(ctx, activities.Task{Conversation: in.Conversation, Trigger: in.Trigger}, "show "+in.Proposal)
			return nil
		},
		"CheckPromise": func(ctx context.Context, in activities.CheckInput) (activities.CheckOutput, error) {
			s.note(ctx, in.Task, "check")
			return perform(ctx, s.check(in))
		},
		"EndPromise": func(ctx context.Context, in activities.EndPromiseInput) (activities.EndPromiseOutput, error) {
			s.note(ctx, activities.Task{Conversation: in.Conversation, Trigger: in.Trigger}, "end "+in.Promise)
			return perform(ctx, s.end(in))
		},
		"Post": func(ctx context.Context, in activities.PostInput) (activities.ReplyOutput, error) {
			s.note(ctx, in.Task, "post")
			return perform(ctx, s.post(in))
		},
		"PostAtOnce": func(ctx context.Context, in activities.PostInput) (activities.ReplyOutput, error) {
			out, err := s.atOnce(in)
			if out.Result != "" {
				s.note(ctx, in.Task, "post")
			}
			return out, err
		},
		"Settle": func(ctx context.Context, in activities.SettleInput) error {
			s.note(ctx, in.Task, "settle")
			_, err := perform(ctx, s.settle())
			return err
		},
		"RecordOrder": func(ctx context.Context, in activities.RecordOrderInput) error {
			s.note(ctx, activities.Task{Conversation: in.Conversation}, in.Kind)
			_, err := perform(ctx, s.script.order())
			return err
		},
	}
}

// perform takes as long as the ending, unless it is cancelled.
func perform[T any](ctx context.Context, e ending[T]) (T, error) {
	if e.takes == 0 {
		return e.out, e.err
	}
	end := time.After(e.takes)
	for beat := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-end:
			return e.out, e.err
		case <-ctx.Done():
			return e.out, ctx.Err()
		case <-beat.C:
			activity.RecordHeartbeat(ctx)
		}
	}
}

// warnings collects the SDK's warnings.
type warnings struct {
	mu    sync.Mutex
	lines []string
}

func (*warnings) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
	return nil
}

func (w *warnings) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w *warnings) WithGroup(string) slog.Handler      { return w }

// containing returns the warnings that contain a text.
func (w *warnings) containing(what string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []string
	for _, line := range w.lines {
		if strings.Contains(line, what) {
			found = append(found, line)
		}
	}
	return found
}

// note adds an activity to the record, once: the server calls it again where the machine stands still for longer than
// its timeouts.
func (s *server) note(ctx context.Context, task activities.Task, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := activity.GetInfo(ctx)
	line := strings.TrimSpace(task.Conversation.ID() + " " + what + " " + task.Trigger)
	which := strings.Join([]string{info.WorkflowExecution.RunID, info.ActivityID, line}, " ")
	if s.noted[which] {
		return
	}
	s.noted[which] = true
	s.infos[what] = info
	s.record = append(s.record, line)
	close(s.changed)
	s.changed = make(chan struct{})
}

// awaitLine waits until the record has a line.
func (s *server) awaitLine(line string) error {
	timeout := time.After(s.timeout)
	for {
		s.mu.Lock()
		there, changed := slices.Contains(s.record, line), s.changed
		s.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-changed:
		case <-timeout:
			return fmt.Errorf("never: %s", line)
		}
	}
}

func (s *server) await(what string, done func() bool) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(s.timeout); !done(); <-tick.C {
		if time.Now().After(deadline) {
			s.t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// useAttributes has new conversations carry the search attributes, which it registers.
func (s *server) useAttributes() {
	s.t.Helper()
	if known, err := temporal.RegisterAttributes(s.t.Context(), s.client, s.namespace, false); err != nil || !known {
		s.t.Fatalf("search attributes registered: %v, %v", known, err)
	}
	s.await("the attributes to be usable", func() bool {
		_, err := s.client.CountWorkflow(s.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: conversation.AttributePhase + " = 'idle'"})
		return err == nil
	})
	s.attributes = true
}

// send sends a signal. Like the relay, it sends it again when the SDK gives up: after ten seconds, which
// a starved server may take.
func (s *server) send(c chat.Conversation, p conversation.Policy, changes ...conversation.Change) error {
	sender := temporal.Sender{Client: s.client, Attributes: func() bool { return s.attributes }, AttributesLost: func() {}}
	for deadline := time.Now().Add(s.timeout); ; {
		err := sender.Send(s.t.Context(), c, conversation.Signal{Policy: p, Changes: changes}, "")
		if serviceerror.ToStatus(err).Code() != codes.DeadlineExceeded || time.Now().After(deadline) {
			return err
		}
	}
}

// closed waits until no run of the conversation is running.
func (s *server) closed(c chat.Conversation) {
	s.t.Helper()
	s.await(c.ID()+" to close", func() bool {
		d, err := s.client.DescribeWorkflowExecution(s.t.Context(), c.ID(), "")
		return err == nil && d.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
}

// histories returns the histories of all runs, once visibility has at least so many.
func (s *server) histories(least int) []*historypb.History {
	s.t.Helper()
	var runs []*workflowservice.ListWorkflowExecutionsResponse
	count := 0
	s.await(fmt.Sprint(least, " runs"), func() bool {
		r, err := s.client.ListWorkflow(s.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1000})
		if err != nil {
			return false
		}
		runs, count = []*workflowservice.ListWorkflowExecutionsResponse{r}, len(r.Executions)
		return count >= least
	})
	var all []*historypb.History
	for _, e := range runs[0].Executions {
		all = append(all, s.history(e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId()))
	}
	return all
}

func (s *server) history(id, run string) *historypb.History {
	s.t.Helper()
	var h historypb.History
	events := s.client.GetWorkflowHistory(s.t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			s.t.Fatal(err)
		}
		h.Events = append(h.Events, event)
	}
	return &h
}

func (s *server) updateWithStart(c chat.Conversation, name string, o conversation.Order) error {
	options, in := temporal.StartOptions(c, "", conversation.Idle, s.attributes, false)
	options.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	start := s.client.NewWithStartWorkflowOperation(options, conversation.WorkflowType, in)
	ctx, cancel := context.WithTimeout(s.t.Context(), s.timeout)
	defer cancel()
	handle, err := s.client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateName: name, Args: []any{o}, WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

func pause(ms int) { <-time.After(time.Duration(ms) * time.Millisecond) }

func difference(got, want []string) []string {
	count := map[string]int{}
	for _, line := range got {
		count[line]++
	}
	for _, line := range want {
		count[line]--
	}
	var out []string
	for line, n := range count {
		if n != 0 {
			out = append(out, fmt.Sprintf("%+d %s", n, line))
		}
	}
	slices.Sort(out)
	return out
}

// register registers all workflows under the names in recorded histories. flow is that of conversations; nil:
// Conversation.
func register(r worker.WorkflowRegistry, flow func(workflow.Context, conversation.Input) error) {
	if flow == nil {
		flow = Conversation
	}
	r.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: conversation.WorkflowType})
	r.RegisterWorkflow(Memory)
	r.RegisterWorkflow(CatchUp)
	r.RegisterWorkflow(CatchUpAll)
	r.RegisterWorkflow(ChannelSync)
	r.RegisterWorkflow(Retention)
	r.RegisterWorkflow(Hindsight)
	r.RegisterWorkflow(Shadow)
	r.RegisterWorkflowWithOptions(ForgetPerson, workflow.RegisterOptions{Name: temporal.ForgetPersonWorkflow})
	r.RegisterWorkflowWithOptions(Introduction, workflow.RegisterOptions{Name: temporal.IntroductionWorkflow})
}

// replayed replays a history with the present code and returns the replayer's error.
func replayed(h *historypb.History) error { return replayedBy(nil, h) }

// replayedBy is replayed with another workflow of conversations.
func replayedBy(flow func(workflow.Context, conversation.Input) error, h *historypb.History) error {
	// the machine may be busy
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true})
	if err != nil {
		return err
	}
	register(r, flow)
	return r.ReplayWorkflowHistory(quiet, h)
}

func replay(t *testing.T, histories []*historypb.History) {
	t.Helper()
	for _, h := range histories {
		if err := replayed(h); err != nil {
			t.Error(err)
		}
	}
}
