package inspector

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"myao/activities"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm/tap"
	"myao/internal/operate/operator"
	"myao/internal/operate/timeline"
	"myao/internal/runtime/temporal"
	"myao/internal/runtime/timeout"
	"myao/internal/store"
	"myao/test/storetest"
	"myao/test/testserver"
	"myao/workflows"
)

func TestMain(m *testing.M) { testserver.Main(m) }

var (
	quiet  = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	top    = chat.Conversation{Team: "T1", Channel: "C1"}
	thread = chat.Conversation{Team: "T1", Channel: "C1", Thread: "1700000000.000100"}
)

// fixture is an inspector over HTTP, with a namespace and a database of the test's own, and a
// worker whose judgments say yes after ten minutes.
type fixture struct {
	*Inspector
	t         *testing.T
	url       string
	operator  *operator.Operator
	namespace string
	worker    *testWorker
	model     *fakeModel
	calls     *calls
	ended     chan string // finished requests, by path
	began     time.Time

	mu     sync.Mutex
	faults []string
}

func newWorld(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	w := &fixture{t: t, namespace: strings.ToLower(t.Name()), calls: &calls{}, model: &fakeModel{}, ended: make(chan string, 100),
		began: time.Now().Truncate(time.Second)}
	address := testserver.Temporal(t)
	admin, err := client.NewNamespaceClient(client.Options{HostPort: address, Logger: quiet, ConnectionOptions: testserver.PatientCalls()})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := admin.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: w.namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	own := w.dial(address)
	w.await("the namespace", func() bool {
		_, err := own.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{})
		return err == nil
	})
	if known, err := temporal.RegisterAttributes(t.Context(), own, w.namespace, false); err != nil || !known {
		t.Fatal(known, err)
	}
	db := storetest.Open(t)
	w.operator = &operator.Operator{Client: own, Store: db, Attributes: func() bool { return true }}
	w.worker = &testWorker{w: w, client: own}
	w.worker.Start()
	t.Cleanup(func() { _ = w.worker.Kill() })
	w.Inspector = &Inspector{
		Team: "T1", Config: config.Default(), WebUI: "http://127.0.0.1:8233/namespaces/sandbox/workflows/", Worker: w.worker, Model: w.model,
		Faults: func() []string {
			w.mu.Lock()
			defer w.mu.Unlock()
			return append([]string{}, w.faults...)
		},
		Clock: time.Now,
	}
	w.serve(timeout.Extend(context.Background()))
	return w
}

// serve has a server answer requests in a context.
func (w *fixture) serve(ctx context.Context) {
	handler := w.Handler()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(rw, r)
		w.ended <- r.URL.Path
	}))
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	w.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	w.url = server.URL
}

// dial connects to Temporal and counts the requests.
func (w *fixture) dial(address string) client.Client {
	w.t.Helper()
	c, err := client.NewLazyClient(client.Options{
		HostPort: address, Namespace: w.namespace, Logger: quiet,
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(w.calls.count, testserver.Patiently)}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

func (w *fixture) await(what string, done func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// calls counts the requests to Temporal.
type calls struct {
	described, queried, answered, querying, atOnce atomic.Int64

	held atomic.Pointer[chan struct{}] // if set, queries wait until it is closed, whatever their contexts say
}

// settle waits until three refreshes in a row have asked no worker, so that the next one would not either.
func (w *fixture) settle() {
	w.t.Helper()
	for asked := int64(-1); asked != w.calls.queried.Load() || w.calls.querying.Load() > 0; {
		described := w.calls.described.Load()
		asked = w.calls.queried.Load()
		w.await("refreshes", func() bool { return w.calls.described.Load() >= described+3 })
	}
}

// hold lets no query pass until it is released.
func (c *calls) hold() (release func()) {
	held := make(chan struct{})
	c.held.Store(&held)
	return sync.OnceFunc(func() { c.held.Store(nil); close(held) })
}

func (c *calls) count(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	switch {
	case strings.HasSuffix(method, "/DescribeWorkflowExecution"):
		c.described.Add(1)
	case strings.HasSuffix(method, "/QueryWorkflow"):
		c.queried.Add(1)
		c.atOnce.Store(max(c.atOnce.Load(), c.querying.Add(1)))
		defer c.querying.Add(-1)
		if held := c.held.Load(); held != nil {
			<-*held
		}
		err := invoke(ctx, method, req, reply, cc, opts...)
		if err == nil {
			c.answered.Add(1)
		}
		return err
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

// testWorker is a Worker that runs real Temporal workers.
type testWorker struct {
	w      *fixture
	client client.Client

	mu    sync.Mutex
	stop  func() // nil while they are stopped
	state WorkerState
	wrong error // what Kill returns
}

func (h *testWorker) State() WorkerState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state
}

func (h *testWorker) pretend(s WorkerState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state = s
}

func (h *testWorker) Kill() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop != nil {
		h.stop()
	}
	h.stop, h.state = nil, Stopped
	return h.wrong
}

func (h *testWorker) Start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop != nil {
		return
	}
	flows := sdkworker.New(h.client, conversation.TaskQueue, sdkworker.Options{})
	model := sdkworker.New(h.client, conversation.ModelTaskQueue, sdkworker.Options{DisableWorkflowWorker: true})
	flows.RegisterWorkflowWithOptions(workflows.Conversation, workflow.RegisterOptions{Name: conversation.WorkflowType})
	flows.RegisterWorkflowWithOptions(remember, workflow.RegisterOptions{Name: "Memory"})
	for name, do := range map[string]any{
		"Judge": func(context.Context, activities.JudgeInput) (out activities.JudgeOutput, _ error) {
			delay := 600
			out.Verdict = chat.Verdict{ShouldRespond: true, Reason: "nobody answered", Confidence: 0.8, DelaySeconds: &delay}
			return out, nil
		},
		"Settle": func(context.Context, activities.SettleInput) error { return nil },
		"RecordOrder": func(ctx context.Context, in activities.RecordOrderInput) error {
			return (&activities.Activities{Store: h.w.operator.Store}).RecordOrder(ctx, in)
		},
	} {
		flows.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name})
		model.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name})
	}
	for _, run := range []sdkworker.Worker{flows, model} {
		if err := run.Start(); err != nil {
			h.w.t.Error(err)
		}
	}
	h.stop, h.state = func() { flows.Stop(); model.Stop() }, Running
}

// remember stands in for the memory run. It runs until it is told to end.
func remember(ctx workflow.Context) error {
	workflow.GetSignalChannel(ctx, "over").Receive(ctx, nil)
	return nil
}

// fakeModel is a Model that has answered once.
type fakeModel struct{ down atomic.Bool }

func (h *fakeModel) Down() bool        { return h.down.Load() }
func (h *fakeModel) SetDown(down bool) { h.down.Store(down) }

func (h *fakeModel) Exchanges(decision string) []tap.Exchange {
	if decision != "T1/C1//1/judgment" {
		return nil
	}
	return []tap.Exchange{{
		Purpose: "judgment", Model: "small", At: time.Unix(1700000000, 0).UTC(), System: "<b>who you are</b>", Prompt: "speak?", Answer: "no", Error: "",
	}}
}

// event is an event that a page receives.
type event struct {
	Now          time.Time           `json:"now"`
	Worker       WorkerState         `json:"worker"`
	Model        string              `json:"model"`
	Faults       []string            `json:"faults"`
	Conversation *chat.Conversation  `json:"conversation"`
	Workflow     string              `json:"workflow"`
	URL          string              `json:"url"`
	Open         bool                `json:"open"`
	State        *conversation.State `json:"state"`
	Asked        time.Time           `json:"asked"`
	Phase        conversation.Phase  `json:"phase"`
	Problem      string              `json:"problem"`
	Silenced     time.Time           `json:"silenced_until"`
	Story        timeline.Timeline   `json:"story"`
	Memories     []memory            `json:"memories"`
	Notes        []chat.Note         `json:"notes"`
	Promises     []struct {
		store.Promise
		Due time.Time `json:"due"`
	} `json:"promises"`

	raw map[string]json.RawMessage
}

func (e event) phase() conversation.Phase {
	if e.State == nil {
		return ""
	}
	return e.State.Phase
}

// page is a stream that a page reads.
type page struct {
	w      *fixture
	events chan event
	close  func()
}

func (w *fixture) open(query string) *page {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/sandbox/mind"+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || kind != "text/event-stream" {
		w.t.Fatalf("%s: %d, %s", query, answer.StatusCode, kind)
	}
	p := &page{w: w, events: make(chan event, 10_000), close: cancel}
	go func() {
		defer func() { _ = answer.Body.Close() }()
		defer close(p.events)
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var e event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				w.t.Errorf("%v: %s", err, data)
				return
			}
			_ = json.Unmarshal([]byte(data), &e.raw)
			p.events <- e
		}
	}()
	return p
}

// await is the next event for which a condition holds.
func (p *page) await(what string, holds func(event) bool) event {
	p.w.t.Helper()
	var last event
	for late := time.After(3 * time.Minute); ; {
		select {
		case e, open := <-p.events:
			if !open {
				p.w.t.Fatalf("the stream ended before %s", what)
			}
			if holds(e) {
				return e
			}
			last = e
		case <-late:
			p.w.t.Fatalf("waited in vain for %s; the last event was %+v with the state %+v", what, last, last.State)
		}
	}
}

// next is the next event.
func (p *page) next() event {
	p.w.t.Helper()
	return p.await("an event", func(event) bool { return true })
}

// do makes one request, and returns its status and body.
func (w *fixture) do(method, path, body string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, strings.TrimSpace(string(said))
}

// done makes a request that must succeed.
func (w *fixture) done(what, body string) {
	w.t.Helper()
	if status, said := w.do(http.MethodPost, "/sandbox/mind/"+what, body); status != http.StatusNoContent || said != "" {
		w.t.Fatalf("%s %s: %d %s", what, body, status, said)
	}
}

// says sends a message to a conversation.
func (w *fixture) says(c chat.Conversation, minWait int, ts string) {
	w.t.Helper()
	sender := temporal.Sender{Client: w.operator.Client, Attributes: w.operator.Attributes, AttributesLost: func() {}}
	s := conversation.Signal{
		Policy:  conversation.Policy{MinWait: minWait, MaxWait: 3600, MaxDelay: 600, IdleClose: 3600},
		Changes: []conversation.Change{{TS: ts, Kind: conversation.Said}},
	}
	if err := sender.Send(w.t.Context(), c, s, c.ID()+ts); err != nil {
		w.t.Fatal(err)
	}
}

// keep stores a message in the database only.
func (w *fixture) keep(c chat.Conversation, ts, text string) {
	w.t.Helper()
	m := chat.Message{Team: c.Team, Channel: c.Channel, ThreadTS: c.Thread, TS: ts, UserID: "U1", Text: text}
	if _, err := w.operator.Store.Record(w.t.Context(), m, func(store.Known) store.Entry { return store.Entry{Message: &m, Handled: true} }); err != nil {
		w.t.Fatal(err)
	}
}
