package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	slackapi "github.com/slack-go/slack"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/internal/testserver"
)

// The bare worker is what Temporal itself costs: workflows and activities that do nothing
// but pass on. It is this test binary, started again as a process of its own.
const (
	bareEnv     = "MYAO_BENCH_BARE"         // its namespace
	bareAddress = "MYAO_BENCH_BARE_ADDRESS" // where it tells when it was reached, host:port

	bareQueue      = "bare"
	bareModelQueue = "bare-model"
	bareSignal     = "signal"
)

// bareMessage is what a bare signal carries: about as much as one of ours.
type bareMessage struct {
	ID   int    `json:"id"`
	TS   string `json:"ts"`
	Kind string `json:"kind"`
	// Activities is how many are carried out one after the other; After is what it waits for first.
	Activities int           `json:"activities"`
	After      time.Duration `json:"after"`
	// Slack is the address of the Web API where the last activity posts into Channel; empty: it only looks at the clock.
	Slack   string `json:"slack,omitempty"`
	Channel string `json:"channel,omitempty"`
}

// bareTalk takes signals for ever, and does what they say.
func bareTalk(ctx workflow.Context) error {
	for ch := workflow.GetSignalChannel(ctx, bareSignal); ; {
		var m bareMessage
		ch.Receive(ctx, &m)
		if m.After > 0 {
			if err := workflow.Sleep(ctx, m.After); err != nil {
				return err
			}
		}
		for i := range m.Activities {
			// A task that the server loses on its way, as a busy one does, comes back as soon as ours.
			o := workflow.ActivityOptions{StartToCloseTimeout: time.Minute, HeartbeatTimeout: 10 * time.Second, TaskQueue: bareModelQueue}
			name := "Pass"
			if i == m.Activities-1 {
				name, o.TaskQueue = "Reach", bareQueue // as the post is
			}
			if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), name, m).Get(ctx, nil); err != nil {
				return err
			}
		}
	}
}

// reached is when the last activity of each message was.
type reached struct {
	mu    sync.Mutex
	times map[int]int64 // Unix microseconds
}

// Pass does nothing.
func (r *reached) Pass(context.Context, bareMessage) error { return nil }

// Reach does nothing but look at the clock, and post where it is told to.
func (r *reached) Reach(ctx context.Context, m bareMessage) error {
	r.mu.Lock()
	r.times[m.ID] = time.Now().UnixMicro()
	r.mu.Unlock()
	if m.Slack == "" {
		return nil
	}
	_, _, err := slackapi.New("xoxb-sandbox", slackapi.OptionAPIURL(m.Slack)).PostMessageContext(ctx, m.Channel, slackapi.MsgOptionText("I see.", false))
	return err
}

func (r *reached) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = json.NewEncoder(w).Encode(r.times)
}

// bareWorker runs until it is told to stop.
func bareWorker(namespace string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	c, err := client.Dial(client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS"), Namespace: namespace, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer c.Close()
	r := &reached{times: map[int]int64{}}
	// The pollers are as our worker has them, so that only what is built on top differs.
	options := worker.Options{
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
	}
	main := worker.New(c, bareQueue, options)
	options.DisableWorkflowWorker = true
	model := worker.New(c, bareModelQueue, options)
	main.RegisterWorkflow(bareTalk)
	for _, w := range []worker.Worker{main, model} {
		w.RegisterActivity(r.Pass)
		w.RegisterActivity(r.Reach)
		if err := w.Start(); err != nil {
			return err
		}
		defer w.Stop()
	}
	server := &http.Server{Addr: os.Getenv(bareAddress), Handler: r}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// bare is a bare worker at work, from outside.
type bare struct {
	b       *bench
	client  client.Client
	program *testserver.Program
	address string
}

func startBare(b *bench, name string) *bare {
	b.Helper()
	namespace := fmt.Sprintf("bare-%s-%d", name, time.Now().UnixMilli())
	r := &bare{b: b, client: b.servers.namespace(b, namespace), address: testserver.FreeAddress(b)}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	r.program = testserver.NewProgram(b, os.Stderr, self)
	r.program.Env = []string{bareEnv + "=" + namespace, bareAddress + "=" + r.address, "TEMPORAL_ADDRESS=" + b.servers.temporal.Address}
	r.program.Start()
	r.ready()
	return r
}

func (r *bare) ready() {
	r.b.Helper()
	r.b.await("the bare worker", 30*time.Second, func() bool {
		_, err := r.times()
		return err == nil
	})
}

// times is when the last activity of each message was reached.
func (r *bare) times() (map[int]time.Time, error) {
	resp, err := http.Get("http://" + r.address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var micros map[int]int64
	if err := json.NewDecoder(resp.Body).Decode(&micros); err != nil {
		return nil, err
	}
	times := make(map[int]time.Time, len(micros))
	for id, us := range micros {
		times[id] = time.UnixMicro(us)
	}
	return times, nil
}

// send is one raw SignalWithStartWorkflow. A workflow task that the server loses comes back as soon as ours.
func (r *bare) send(workflow string, m bareMessage) error {
	_, err := r.client.SignalWithStartWorkflow(r.b.Context(), workflow, bareSignal, m,
		client.StartWorkflowOptions{TaskQueue: bareQueue, WorkflowTaskTimeout: 5 * time.Second}, bareTalk)
	return err
}
