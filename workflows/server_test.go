package workflows

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"

	"myao/activities"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/temporal"
	"myao/internal/testserver"
)

var quiet = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))

// server is a namespace of the test's own on a real server, with a worker whose
// activities record what they are asked.
type server struct {
	t         *testing.T
	client    client.Client
	namespace string

	mu      sync.Mutex
	record  []string // "thread/T1/C1/1.000000 post 2.000000"
	changed chan struct{}
}

func newServer(t *testing.T) *server {
	t.Helper()
	t.Parallel()
	address := testserver.Temporal(t)
	s := &server{t: t, namespace: strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")), changed: make(chan struct{})}
	admin, err := client.NewNamespaceClient(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := admin.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: s.namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	if s.client, err = client.NewLazyClient(client.Options{HostPort: address, Namespace: s.namespace, Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	s.await("the namespace", func() bool {
		_, err := s.client.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{})
		return err == nil
	})
	w := worker.New(s.client, conversation.TaskQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(Conversation, workflow.RegisterOptions{Name: conversation.WorkflowType})
	w.RegisterActivityWithOptions(func(_ context.Context, in activities.JudgeInput) (activities.JudgeOutput, error) {
		s.note(in.Task, "judge")
		return yes(0).out, nil
	}, activity.RegisterOptions{Name: "Judge"})
	w.RegisterActivityWithOptions(func(_ context.Context, in activities.ComposeInput) (activities.ReplyOutput, error) {
		s.note(in.Task, "compose")
		return result(conversation.Done).out, nil
	}, activity.RegisterOptions{Name: "Compose"})
	w.RegisterActivityWithOptions(func(_ context.Context, in activities.PostInput) (activities.ReplyOutput, error) {
		s.note(in.Task, "post")
		return result(conversation.Done).out, nil
	}, activity.RegisterOptions{Name: "Post"})
	w.RegisterActivityWithOptions(func(_ context.Context, in activities.SettleInput) error {
		s.note(in.Task, "settle")
		return nil
	}, activity.RegisterOptions{Name: "Settle"})
	w.RegisterActivityWithOptions(func(_ context.Context, in activities.SilenceInput) error {
		s.note(activities.Task{Conversation: in.Conversation}, "silence")
		return nil
	}, activity.RegisterOptions{Name: "Silence"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return s
}

func (s *server) note(task activities.Task, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = append(s.record, strings.TrimSpace(task.Conversation.ID()+" "+what+" "+task.Trigger))
	close(s.changed)
	s.changed = make(chan struct{})
}

// awaitLine waits until an activity has been asked for something.
func (s *server) awaitLine(line string) error {
	timeout := time.After(30 * time.Second)
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
	for deadline := time.Now().Add(30 * time.Second); !done(); <-tick.C {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (s *server) send(c chat.Conversation, p conversation.Policy, changes ...conversation.Change) error {
	_, err := s.client.SignalWithStartWorkflow(s.t.Context(), c.ID(), conversation.SignalName,
		conversation.Signal{Policy: p, Changes: changes},
		client.StartWorkflowOptions{TaskQueue: conversation.TaskQueue}, conversation.WorkflowType, conversation.Input{Conversation: c})
	return err
}

// closed waits until no run of the conversation is open.
func (s *server) closed(c chat.Conversation) {
	s.t.Helper()
	s.await(c.ID()+" to close", func() bool {
		d, err := s.client.DescribeWorkflowExecution(s.t.Context(), c.ID(), "")
		return err == nil && d.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
}

// histories are those of all runs, once visibility has caught up with n of them.
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
		var h historypb.History
		events := s.client.GetWorkflowHistory(s.t.Context(), e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId(),
			false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				s.t.Fatal(err)
			}
			h.Events = append(h.Events, event)
		}
		all = append(all, &h)
	}
	return all
}

// replay has the workflow's code come to the same commands again.
func replay(t *testing.T, histories []*historypb.History) {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.RegisterWorkflowWithOptions(Conversation, workflow.RegisterOptions{Name: conversation.WorkflowType})
	for _, h := range histories {
		if err := r.ReplayWorkflowHistory(quiet, h); err != nil {
			t.Error(err)
		}
	}
}

// Runs close as soon as they are idle, and signals come just then: each addressed
// message is answered once all the same.
func TestNoSignalIsLostAroundTheClose(t *testing.T) {
	s := newServer(t)
	const conversations, messages = 8, 25
	p := conversation.Policy{MaxWait: 60, MaxDelay: 10} // idle_close 0
	var group sync.WaitGroup
	var want []string
	for i := range conversations {
		c := chat.Conversation{Team: "T1", Channel: "C1", Thread: ts(i + 1)}
		random := rand.New(rand.NewPCG(1, uint64(i)))
		for n := range messages {
			m := ts(1000 + n)
			want = append(want, c.ID()+" compose "+m, c.ID()+" post "+m)
		}
		group.Go(func() {
			for n := range messages {
				err := s.send(c, p, addressed(1000+n))
				if err == nil {
					err = s.awaitLine(c.ID() + " post " + ts(1000+n))
				}
				if err != nil {
					t.Error(err)
					return
				}
				// The run is about to close: the next signal comes before, while or after it does.
				pause(random.IntN(200))
			}
		})
	}
	group.Wait()
	for i := range conversations {
		s.closed(chat.Conversation{Team: "T1", Channel: "C1", Thread: ts(i + 1)})
	}
	got := slices.Sorted(slices.Values(s.record))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d activities, want %d; the difference: %v", len(got), len(want), difference(got, want))
	}
	histories := s.histories(conversations + 1)
	late := 0 // signals that came to a run that had served one
	for _, h := range histories {
		signals := 0
		for _, e := range h.Events {
			if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
				signals++
			}
		}
		late += max(0, signals-1)
	}
	t.Logf("%d runs, %d signals to a run about to close", len(histories), late)
	if late == 0 || len(histories) < 2*conversations {
		t.Errorf("%d runs, %d late signals: the race was not run", len(histories), late)
	}
	replay(t, histories)
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

// A burst in the middle of everything, with repetitions: all is judged or answered.
func TestSignalsSentTwiceCountOnce(t *testing.T) {
	s := newServer(t)
	p := conversation.Policy{MinWait: 1, MaxWait: 60, MaxDelay: 10, IdleClose: 1}
	for n := range 50 {
		for range 1 + n%2 {
			if err := s.send(topLevel, p, said(1000+n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.awaitLine(topLevel.ID() + " post " + ts(1049)); err != nil {
		t.Error(err)
	}
	s.closed(topLevel)
	histories := s.histories(1)
	judged := 0
	for _, line := range s.record {
		if line == topLevel.ID()+" judge "+ts(1049) {
			judged++
		}
	}
	if judged != 1 {
		t.Errorf("the newest message was judged %d times", judged)
	}
	replay(t, histories)
}

func (s *server) updateWithStart(c chat.Conversation, name string, o conversation.Order) error {
	start := s.client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: c.ID(), TaskQueue: conversation.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, conversation.WorkflowType, conversation.Input{Conversation: c})
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
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

// The run may be closed, or there may never have been one.
func TestAnOrderIsCarriedOutInARunOfItsOwn(t *testing.T) {
	s := newServer(t)
	const orders = 5
	for n := range orders {
		if err := s.updateWithStart(thread, conversation.UpdateMute, carol); err != nil {
			t.Fatalf("order %d: %v", n, err)
		}
		s.closed(thread)
	}
	if err := s.updateWithStart(thread, conversation.UpdateDrop, carol); err == nil || !strings.Contains(err.Error(), "nothing waits here") {
		t.Errorf("a drop of nothing: %v, want it refused", err)
	}
	s.closed(thread)
	if want := slices.Repeat([]string{thread.ID() + " silence"}, orders); !slices.Equal(s.record, want) {
		t.Errorf("got %q, want %d times silence", s.record, orders)
	}
	histories := s.histories(orders + 1)
	for _, h := range histories {
		if n := len(h.Events); n > 30 {
			t.Errorf("%d events for one order", n)
		}
	}
	replay(t, histories)
}

// What people find conversations by, and what they see of one.
func TestSearchAttributesAndSummaries(t *testing.T) {
	s := newServer(t)
	if known, err := temporal.RegisterAttributes(t.Context(), s.client, s.namespace); err != nil || !known {
		t.Fatalf("search attributes registered: %v, %v", known, err)
	}
	p := conversation.Policy{MinWait: 1, MaxWait: 60, MaxDelay: 10, IdleClose: 1}
	sender := temporal.Sender{Client: s.client, Attributes: func() bool { return true }}
	var err error
	s.await("the attributes to be usable", func() bool {
		err = sender.Send(t.Context(), topLevel, conversation.Signal{Policy: p, Changes: []conversation.Change{said(5)}}, "request")
		return err == nil
	})
	if err := s.awaitLine(topLevel.ID() + " post " + ts(5)); err != nil {
		t.Fatal(err)
	}
	s.closed(topLevel)
	histories := s.histories(1)
	var phases, summaries []string
	read := func(e *historypb.HistoryEvent) {
		summary := ""
		if p := e.GetUserMetadata().GetSummary(); p != nil {
			if err := converter.GetDefaultDataConverter().FromPayload(p, &summary); err != nil {
				t.Error(err)
			}
		}
		summaries = append(summaries, summary)
	}
	for _, e := range histories[0].Events {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
			var phase string
			fields := e.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields()
			if err := converter.GetDefaultDataConverter().FromPayload(fields[conversation.AttributePhase], &phase); err != nil {
				t.Error(err)
			}
			phases = append(phases, phase)
		case enumspb.EVENT_TYPE_TIMER_STARTED, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
			read(e)
		}
	}
	if want := []string{"waiting", "judging", "replying", "idle"}; !slices.Equal(phases, want) {
		t.Errorf("phases %q, want %q", phases, want)
	}
	want := []string{"C1 · top level", "quiet time", "judge message 5.000000", "compose reply to 5.000000", "post reply to 5.000000", "close when idle"}
	if !slices.Equal(summaries, want) {
		t.Errorf("summaries %q, want %q", summaries, want)
	}
	replay(t, histories)
}

// A replay that cannot fail would prove nothing: a history of another course is refused.
func TestReplayNoticesAnotherCourse(t *testing.T) {
	s := newServer(t)
	if err := s.send(thread, conversation.Policy{MaxWait: 60}, addressed(7)); err != nil {
		t.Fatal(err)
	}
	s.closed(thread)
	h := s.histories(1)[0]
	for _, e := range h.Events {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil && a.GetActivityType().GetName() == "Compose" {
			a.ActivityType.Name = "Judge"
		}
	}
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(Conversation, workflow.RegisterOptions{Name: conversation.WorkflowType})
	if err := r.ReplayWorkflowHistory(quiet, h); err == nil {
		t.Error("a history with another activity was taken for the workflow's own")
	}
}
