package operator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
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
	"myao/internal/runtime/temporal"
	"myao/internal/store"
	"myao/test/storetest"
	"myao/test/testserver"
	"myao/workflows"
)

func TestMain(m *testing.M) { testserver.Main(m) }

var quiet = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))

// fixture is a namespace of the test's own, with workers whose judgments say yes after ten minutes
// (except for slow).
type fixture struct {
	t *testing.T
	*Operator
	namespace  string
	attributes bool
	database   string // the file
	stop       func() // stops the workers

	mu     sync.Mutex
	orders []string        // recorded orders: "mute by cli:carol"
	ids    map[string]bool // of these: an activity that takes too long is repeated
}

func newWorld(t *testing.T, attributes bool) *fixture {
	t.Helper()
	t.Parallel()
	address := testserver.Temporal(t)
	w := &fixture{t: t, namespace: strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")), attributes: attributes, ids: map[string]bool{}}
	admin, err := client.NewNamespaceClient(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := admin.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: w.namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	c := dial(t, address, w.namespace)
	url := storetest.SQLite(t)
	w.database = strings.TrimPrefix(url, "sqlite:")
	db := storetest.OpenURL(t, url)
	if err := db.SaveChannel(t.Context(), "T1", store.Channel{ID: "C1", Name: "general"}); err != nil {
		t.Fatal(err)
	}
	w.await("the namespace", func() bool {
		_, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{})
		return err == nil
	})
	if attributes {
		if known, err := temporal.RegisterAttributes(t.Context(), c, w.namespace, false); err != nil || !known {
			t.Fatal(known, err)
		}
	}
	w.Operator = &Operator{Client: c, Store: db, Attributes: func() bool { return attributes }}
	w.work()
	return w
}

func dial(t *testing.T, address, namespace string) client.Client {
	t.Helper()
	c, err := client.NewLazyClient(client.Options{HostPort: address, Namespace: namespace, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (w *fixture) work() {
	w.t.Helper()
	flows := worker.New(w.Client, conversation.TaskQueue, worker.Options{})
	model := worker.New(w.Client, conversation.ModelTaskQueue, worker.Options{DisableWorkflowWorker: true})
	flows.RegisterWorkflowWithOptions(workflows.Conversation, workflow.RegisterOptions{Name: conversation.WorkflowType})
	for name, do := range map[string]any{
		"Judge": func(ctx context.Context, in activities.JudgeInput) (out activities.JudgeOutput, _ error) {
			if in.Conversation == slow {
				<-ctx.Done()
				return out, ctx.Err()
			}
			delay := 600
			out.Verdict = chat.Verdict{ShouldRespond: true, Reason: "nobody answered", Confidence: 0.8, DelaySeconds: &delay}
			return out, nil
		},
		"Compose": func(context.Context, activities.ComposeInput) (activities.ReplyOutput, error) {
			return activities.ReplyOutput{Result: conversation.Done}, nil
		},
		"Post": func(context.Context, activities.PostInput) (activities.ReplyOutput, error) {
			return activities.ReplyOutput{Result: conversation.Done}, nil
		},
		"Settle": func(context.Context, activities.SettleInput) error { return nil },
		"RecordOrder": func(ctx context.Context, in activities.RecordOrderInput) error {
			w.mu.Lock()
			if !w.ids[in.ID] {
				w.ids[in.ID], w.orders = true, append(w.orders, in.Kind+" by "+in.By)
			}
			w.mu.Unlock()
			return (&activities.Activities{Store: w.Store}).RecordOrder(ctx, in)
		},
	} {
		flows.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name})
		model.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name})
	}
	for _, run := range []worker.Worker{flows, model} {
		if err := run.Start(); err != nil {
			w.t.Fatal(err)
		}
	}
	w.stop = sync.OnceFunc(func() { flows.Stop(); model.Stop() })
	w.t.Cleanup(w.stop)
}

// State is a conversation's state, and whether a run is open.
func (w *fixture) State(ctx context.Context, c chat.Conversation) (*conversation.State, bool, error) {
	s, err := w.Situation(ctx, c)
	return s.State, s.Run.Running, err
}

// show is a conversation's state and its newest run.
func (w *fixture) show(c chat.Conversation) (*conversation.State, Run, error) {
	s, err := w.Situation(w.t.Context(), c)
	return s.State, s.Run, err
}

func (w *fixture) await(what string, done func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !done() {
		if time.Now().After(deadline) {
			w.t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (w *fixture) written() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.orders)
}

// says sends a message to a conversation and waits for a phase.
func (w *fixture) says(c chat.Conversation, minWait int, until conversation.Phase) {
	w.t.Helper()
	sender := temporal.Sender{Client: w.Client, Attributes: w.Attributes, AttributesLost: func() {}}
	s := conversation.Signal{
		Policy:  conversation.Policy{MinWait: minWait, MaxWait: 3600, MaxDelay: 600, IdleClose: 3600},
		Changes: []conversation.Change{{TS: "1700000001.000100", Kind: conversation.Said}},
	}
	if err := sender.Send(w.t.Context(), c, s, c.ID()); err != nil {
		w.t.Fatal(err)
	}
	w.await(string(until), func() bool {
		s, running, err := w.State(w.t.Context(), c)
		return err == nil && running && s.Phase == until
	})
}

func (w *fixture) closed(c chat.Conversation) {
	w.t.Helper()
	w.await("the run to end", func() bool {
		_, running, err := w.State(w.t.Context(), c)
		return err == nil && !running
	})
}

var (
	thread = chat.Conversation{Team: "T1", Channel: "C1", Thread: "1700000000.000100"}
	top    = chat.Conversation{Team: "T1", Channel: "C1"}
	slow   = chat.Conversation{Team: "T1", Channel: "C3"} // its judgment never ends
	carol  = conversation.Order{By: "cli:carol"}
)

func TestOrder(t *testing.T) {
	w := newWorld(t, true)
	ctx := t.Context()
	refused := func(update, why string) {
		t.Helper()
		var no *Refused
		if err := w.Order(ctx, thread, update, carol, ""); !errors.As(err, &no) || no.Text != why {
			t.Errorf("%s: %v, want it refused: %s", update, err, why)
		}
	}
	obeyed := func(update, id string) {
		t.Helper()
		if err := w.Order(ctx, thread, update, carol, id); err != nil {
			t.Errorf("%s: %v", update, err)
		}
	}
	// Nothing runs, and no run is left open.
	refused(conversation.UpdateAnswerNow, "nothing waits here: the conversation is idle")
	w.closed(thread)
	refused(conversation.UpdateSnooze, "snooze: seconds is 0; it must be from 1 to 31622400")
	w.closed(thread)
	obeyed(conversation.UpdateMute, "")
	if until, err := w.Store.SilencedUntil(ctx, thread); err != nil || time.Until(until) < conversation.MuteDuration-time.Hour {
		t.Errorf("muted until %s, %v", until, err)
	}
	w.closed(thread)
	obeyed(conversation.UpdateUnmute, "")
	if until, err := w.Store.SilencedUntil(ctx, thread); err != nil || !until.IsZero() {
		t.Errorf("unmuted, and silent until %s, %v", until, err)
	}
	w.closed(thread)

	// An order repeated under its id is carried out once: a second drop would be refused.
	w.says(thread, 3600, conversation.Waiting)
	obeyed(conversation.UpdateDrop, "again")
	obeyed(conversation.UpdateDrop, "again")
	refused(conversation.UpdateDrop, "nothing waits here: the conversation is idle")
	want := []string{"mute by cli:carol", "unmute by cli:carol", "drop by cli:carol"}
	w.await("the orders", func() bool { return slices.Equal(w.written(), want) })
}

// lossy is a client whose first queries find no worker.
type lossy struct {
	client.Client
	lost []error
}

func (l *lossy) QueryWorkflow(ctx context.Context, id, run, query string, args ...any) (converter.EncodedValue, error) {
	if len(l.lost) > 0 {
		err := l.lost[0]
		l.lost = l.lost[1:]
		return nil, err
	}
	return l.Client.QueryWorkflow(ctx, id, run, query, args...)
}

func TestLostQueryIsRepeated(t *testing.T) {
	w := newWorld(t, false)
	w.says(thread, 3600, conversation.Waiting)
	l := &lossy{w.Client, []error{serviceerror.NewFailedPrecondition("no poller seen"), serviceerror.NewDeadlineExceeded("too late")}}
	w.Client = l
	if s, running, err := w.State(t.Context(), thread); err != nil || !running || s.Phase != conversation.Waiting {
		t.Errorf("%+v, %v, %v", s, running, err)
	}
	l.lost = []error{serviceerror.NewInternal("broken")}
	if _, _, err := w.State(t.Context(), thread); err == nil || errors.Is(err, ErrNoWorker) || len(l.lost) > 0 {
		t.Errorf("what is broken: %v", err)
	}
}

// brief is a client whose orders and queries are given up after a second. The database has as long as it needs.
type brief struct{ client.Client }

func (b brief) UpdateWithStartWorkflow(ctx context.Context, o client.UpdateWithStartWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return b.Client.UpdateWithStartWorkflow(ctx, o)
}

// QueryWorkflow ends the patience of whoever asks, if that is a lapsing context.
func (b brief) QueryWorkflow(ctx context.Context, id, run, query string, args ...any) (converter.EncodedValue, error) {
	bounded, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	value, err := b.Client.QueryWorkflow(bounded, id, run, query, args...)
	if l, ok := ctx.(lapsing); ok {
		close(l.done)
	}
	return value, err
}

// lapsing is a context whose deadline is when a query was not answered.
type lapsing struct {
	context.Context
	done chan struct{}
}

func (l lapsing) Done() <-chan struct{} { return l.done }

func (l lapsing) Err() error {
	select {
	case <-l.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestOrderWithoutWorker(t *testing.T) {
	w := newWorld(t, false)
	w.stop()
	w.Client, w.reachTimeout = brief{w.Client}, time.Minute
	if err := w.Order(t.Context(), thread, conversation.UpdateMute, carol, ""); !errors.Is(err, ErrNoWorker) {
		t.Errorf("no worker: %v", err)
	}
	w.await("a state that no worker tells, though the database takes writes", func() bool {
		_, _, err := w.State(lapsing{t.Context(), make(chan struct{})}, thread)
		if !errors.Is(err, ErrNoWorker) {
			t.Fatalf("no worker: %v", err)
		}
		return !errors.Is(err, ErrUnwritable) // which a busy machine's may seem not to
	})
	unlock := testserver.LockSQLite(t, w.database)
	if err := w.Order(t.Context(), thread, conversation.UpdateMute, carol, ""); !errors.Is(err, ErrNoWorker) || !errors.Is(err, ErrUnwritable) {
		t.Errorf("a database that is locked: %v", err)
	}
	_ = unlock()
	w.Client, w.reachTimeout = brief{dial(t, "127.0.0.1:1", "default")}, time.Second
	if err := w.Order(t.Context(), thread, conversation.UpdateMute, carol, ""); !errors.Is(err, ErrNoServer) {
		t.Errorf("no server: %v", err)
	}
	if _, _, err := w.State(within(t, time.Second), thread); !errors.Is(err, ErrNoServer) {
		t.Errorf("no server: %v", err)
	}
	if _, err := w.Conversations(within(t, time.Second), Filter{}); !errors.Is(err, ErrNoServer) {
		t.Errorf("no server: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Order(gone, thread, conversation.UpdateMute, carol, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("called off: %v", err)
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
