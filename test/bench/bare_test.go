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

	"myao/test/testserver"
)

// The bare worker shows the cost of Temporal itself: its workflows and activities do almost
// nothing. It is this test binary, started as a second process.
const (
	bareEnv     = "MYAO_BENCH_BARE"         // its namespace
	bareAddress = "MYAO_BENCH_BARE_ADDRESS" // where it serves the activities' times, host:port

	bareQueue      = "bare"
	bareModelQueue = "bare-model"
	bareSignal     = "signal"
)

// bareMessage is the payload of a bare signal, about as large as one of ours.
type bareMessage struct {
	ID   int    `json:"id"`
	TS   string `json:"ts"`
	Kind string `json:"kind"`
	// Activities is the number of activities, one after the other, which begin after After.
	Activities int           `json:"activities"`
	After      time.Duration `json:"after"`
	// Slack is the URL of the Web API with which the last activity posts into Channel; empty: no post.
	Slack   string `json:"slack,omitempty"`
	Channel string `json:"channel,omitempty"`
}

// bareConversation handles signals for ever.
func bareConversation(ctx workflow.Context) error {
	for ch := workflow.GetSignalChannel(ctx, bareSignal); ; {
		var m bareMessage
		ch.Receive(ctx, &m)
		if m.After > 0 {
			if err := workflow.Sleep(ctx, m.After); err != nil {
				return err
			}
		}
		for i := range m.Activities {
			// A busy server loses tasks. The timeouts bring them back as soon as ours.
			o := workflow.ActivityOptions{StartToCloseTimeout: time.Minute, HeartbeatTimeout: 10 * time.Second, TaskQueue: bareModelQueue}
			name := "Pass"
			if i == m.Activities-1 {
				name, o.TaskQueue = "Finish", bareQueue // our post is on the main queue, too
			}
			if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), name, m).Get(ctx, nil); err != nil {
				return err
			}
		}
	}
}

// activityTimes is when the last activity of each message ran.
type activityTimes struct {
	mu    sync.Mutex
	times map[int]int64 // Unix microseconds
}

// Pass does nothing.
func (r *activityTimes) Pass(context.Context, bareMessage) error { return nil }

// Finish records the time, and posts if the message says so.
func (r *activityTimes) Finish(ctx context.Context, m bareMessage) error {
	r.mu.Lock()
	r.times[m.ID] = time.Now().UnixMicro()
	r.mu.Unlock()
	if m.Slack == "" {
		return nil
	}
	_, _, err := slackapi.New("xoxb-sandbox", slackapi.OptionAPIURL(m.Slack)).PostMessageContext(ctx, m.Channel, slackapi.MsgOptionText("I see.", false))
	return err
}

func (r *activityTimes) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = json.NewEncoder(w).Encode(r.times)
}

// bareWorker runs until a signal stops it.
func bareWorker(namespace string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	c, err := client.Dial(client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS"), Namespace: namespace, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer c.Close()
	r := &activityTimes{times: map[int]int64{}}
	// The same pollers as in our worker, so that only the code on top differs.
	options := worker.Options{
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
	}
	main := worker.New(c, bareQueue, options)
	options.DisableWorkflowWorker = true
	model := worker.New(c, bareModelQueue, options)
	main.RegisterWorkflow(bareConversation)
	for _, w := range []worker.Worker{main, model} {
		w.RegisterActivity(r.Pass)
		w.RegisterActivity(r.Finish)
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

// bare is a running bare worker.
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
	testserver.Must(b, err)
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

// times returns when the last activity of each message ran.
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

// send makes one raw SignalWithStartWorkflow. Its workflow task timeout is the same as ours.
func (r *bare) send(workflow string, m bareMessage) error {
	_, err := r.client.SignalWithStartWorkflow(r.b.Context(), workflow, bareSignal, m,
		client.StartWorkflowOptions{TaskQueue: bareQueue, WorkflowTaskTimeout: 5 * time.Second}, bareConversation)
	return err
}
