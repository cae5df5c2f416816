package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/testserver"
)

const (
	// dueChannels is how many replies fall due while no worker is there, each in a channel
	// of its own.
	dueChannels = 100
	// crowdPerChannel is how many conversations of the crowd one channel has.
	crowdPerChannel = 100
	// delay is how long the model holds back, and away how long no worker is there.
	delay, away = 25 * time.Second, 30 * time.Second
	// cachedKiB is what a workflow in the SDK's cache costs by itself, with one coroutine and
	// hardly any state: 10.7 KiB of heap and 8 KiB of stack, measured with 3,000 of them.
	cachedKiB = 19
)

// measureIdle has thousands of conversations wait, and looks at the worker: what it
// costs to keep them, and how soon it answers what fell due while it was away.
func measureIdle(b *bench) []row {
	crowd := b.of(10_000, 200) - dueChannels
	w := build(b, settings{
		name: "idle", channels: dueChannels + (b.of(100_000, 400)+crowdPerChannel-1)/crowdPerChannel, events: true,
		answer: func(c llmtest.Call) llmtest.Reply {
			if !c.Judgment() {
				return llmtest.Text("I see.")
			}
			verdict, _ := json.Marshal(chat.Verdict{ShouldRespond: true, Reason: "as told", Confidence: 0.9, DelaySeconds: new(int(delay.Seconds()))})
			return llmtest.Text(string(verdict))
		},
		response: "min_wait_seconds: 7200\nmax_wait_seconds: 14400\nfollow_up_wait_seconds: 7200\njitter_ratio: 0\nmax_delay_seconds: 600",
		more: func(channels []string) string {
			more := "channels:"
			for _, id := range channels[:dueChannels] {
				more += "\n  " + id + ": {min_wait_seconds: 1, max_wait_seconds: 60}"
			}
			return more
		},
	})
	defer w.close()
	floor := startBare(b, "idle")
	defer floor.program.Kill()
	bare := newBareSlack(b)

	empty := w.live()
	w.crowd(0, crowd)
	kept := w.live()
	rows := []row{alone("worker: memory of an idle conversation", "KiB", atMost(1.5*cachedKiB, "KiB"), (kept-empty)/1024/float64(crowd)).
		noting("%d conversations; %d KiB is what the SDK's cache takes of a bare workflow; %.0f MiB in all, of which %.0f without any; resident %.0f MiB",
			crowd, cachedKiB, kept/(1<<20), empty/(1<<20), w.metric("process_resident_memory_bytes")/(1<<20))}
	rows = append(rows, w.restartRows(floor, bare, crowd)...)
	if *flagLong {
		rows = append(rows, w.openRow(crowd, kept))
	}
	return rows
}

// crowd has somebody write once in each of many conversations, from one number to another,
// and returns when all wait.
func (w *world) crowd(from, to int) {
	w.b.Helper()
	writer, began := w.writer(), time.Now()
	channels := w.channels[dueChannels:]
	done, failed, _ := closedLoop(w.b.Context(), 64, time.Hour, func(i int) error {
		if i += from; i >= to {
			return errEnough
		}
		p := place{channels[i%len(channels)], fmt.Sprintf("1700000000.%06d", i)}
		return writer.say(w.b.Context(), p.channel, p.thread, writer.ts(), "one of the crowd")
	})
	if failed > 0 {
		w.b.Errorf("%d messages of the crowd were not acknowledged", failed)
	}
	w.drained()
	w.b.await("the workflows to have heard", 30*time.Minute, func() bool { return w.workflowTasks() == 0 })
	w.b.tell("idle: %d conversations wait after %s", done, time.Since(began).Round(time.Second))
}

// workflowTasks is how many workflow tasks wait for the worker, about.
func (w *world) workflowTasks() int64 {
	w.b.Helper()
	d, err := w.client.WorkflowService().DescribeTaskQueue(w.b.Context(), &workflowservice.DescribeTaskQueueRequest{
		Namespace: w.namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: conversation.TaskQueue}, TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW, ReportStats: true,
	})
	if err != nil {
		w.b.Fatal(err)
	}
	return d.GetStats().GetApproximateBacklogCount()
}

// restartRows kills the worker while a hundred replies wait, starts it when they are due,
// and compares it with a bare worker that posts, too, and has nothing else to keep.
func (w *world) restartRows(floor *bare, slack *bareSlack, crowd int) []row {
	b := w.b
	var firsts, lasts, bareLasts []float64
	asked := 0
	for round := range b.rounds {
		first, last, bareFirst, bareLast := w.restart(floor, slack, round%2 == 0)
		asked += dueChannels
		firsts, lasts = append(firsts, first.Seconds()), append(lasts, last.Seconds())
		bareLasts = append(bareLasts, bareLast.Seconds())
		b.tell("restart: first reply after %.2f s, last after %.2f s; bare %.2f and %.2f s", first.Seconds(), last.Seconds(), bareFirst.Seconds(), bareLast.Seconds())
	}
	time.Sleep(2 * time.Second)
	posts := len(w.workspace.Posts())
	note := fmt.Sprintf("lost %d, doubled %d of %d", max(0, asked-posts), max(0, posts-asked), asked)
	if posts != asked {
		b.Errorf("restart: %s", note)
	}
	return []row{
		alone("restart of the worker to the first reply due", "s", atMost(5, "s"), firsts...).noting("%d replies due of %d conversations that wait; %s", dueChannels, crowd+dueChannels, note),
		against("restart of the worker to the last reply due", "s", atMost(1.3, "×"), lasts, bareLasts),
	}
}

// restart kills the worker, and the bare one, while replies wait, and starts one after the
// other when all are due: who comes first finds servers that have been idle for as long as
// nobody was there, and takes a little longer. It returns how long after its start each has
// posted the first and the last. The bare workflows are those of the round before, as ours
// are: both are replayed with all that has happened to them.
func (w *world) restart(floor *bare, slack *bareSlack, oursFirst bool) (first, last, bareFirst, bareLast time.Duration) {
	b := w.b
	b.Helper()
	b.quiet()
	before, decided := len(w.workspace.Posts()), w.count("SELECT COUNT(*) FROM decisions")
	for i, channel := range w.channels[:dueChannels] {
		w.workspace.Say(channel, w.person, "can anybody help me?")
		if err := floor.send(fmt.Sprintf("due-%d", i), bareMessage{ID: i, After: delay, Activities: 2, Slack: slack.api, Channel: slack.channels[i]}); err != nil {
			b.Fatal(err)
		}
	}
	b.await("the judgments", time.Minute, func() bool {
		return w.count("SELECT COUNT(*) FROM decisions") >= decided+dueChannels
	})
	time.Sleep(500 * time.Millisecond) // until the workflows have heard of them
	w.worker.Kill()
	floor.program.Kill()
	if n := len(w.workspace.Posts()) - before; n > 0 {
		b.Fatalf("%d replies came before the worker was killed: the machine is too slow for this", n)
	}
	time.Sleep(away)
	b.quiet()

	if oursFirst {
		first, last = b.replies(w.worker, w.workspace)
		b.quiet()
	}
	bareFirst, bareLast = b.replies(floor.program, slack.workspace)
	if !oursFirst {
		b.quiet()
		first, last = b.replies(w.worker, w.workspace)
	}
	return first, last, bareFirst, bareLast
}

// replies starts a program, and returns how long after that a workspace has got the first
// and the last of a hundred more posts.
func (b *bench) replies(program *testserver.Program, workspace *sandbox.Workspace) (first, last time.Duration) {
	b.Helper()
	before := len(workspace.Posts())
	began := time.Now()
	program.Start()
	b.await("the replies", 2*time.Minute, func() bool { return len(workspace.Posts()) >= before+dueChannels })
	first = time.Hour
	for _, p := range workspace.Posts()[before:] {
		first, last = min(first, p.At.Sub(began)), max(last, p.At.Sub(began))
	}
	return first, last
}

// bareSlack is a workspace for the bare worker to post into, which tells nobody of it.
type bareSlack struct {
	workspace *sandbox.Workspace
	api       string // the address of its Web API
	channels  []string
}

func newBareSlack(b *bench) *bareSlack {
	b.Helper()
	s := &bareSlack{workspace: sandbox.New(sandbox.Config{LogLimit: 1000})}
	b.Cleanup(s.workspace.Close)
	api := httptest.NewServer(s.workspace.Handler())
	b.Cleanup(api.Close)
	s.api = api.URL + "/api/"
	for i := range dueChannels {
		s.channels = append(s.channels, s.workspace.AddChannel(sandbox.Public, fmt.Sprintf("room-%d", i), s.workspace.Bot().UserID))
	}
	return s
}

// openRow has ten times as many conversations wait as the worker caches, lets some of
// them be written in, and compares what it holds then with what it held before.
func (w *world) openRow(crowd int, kept float64) row {
	all, active := w.b.of(100_000, 400), w.b.of(1000, 20)
	for open := crowd; open < all; open += crowd {
		w.crowd(open, min(all, open+crowd))
	}
	writer, channels := w.writer(), w.channels[dueChannels:]
	openLoop(w.b.Context(), 50, active, func(i int, _ time.Time) {
		i *= all / active
		w.must(writer.say(w.b.Context(), channels[i%len(channels)], fmt.Sprintf("1700000000.%06d", i), writer.ts(), "once more"))
	})
	w.drained()
	now := w.live()
	return against(fmt.Sprintf("worker: memory with %d conversations open, %d active", all, active), "MiB", atMost(1.2, "×"), []float64{now / (1 << 20)}, []float64{kept / (1 << 20)}).
		noting("against %d open; resident %.0f MiB", crowd+dueChannels, w.metric("process_resident_memory_bytes")/(1<<20))
}

// live is how many bytes of heap and stacks the worker holds that are in use: what its
// last garbage collection found. The collector's next goal is that, once more (GOGC=100).
func (w *world) live() float64 {
	w.b.Helper()
	time.Sleep(3 * time.Second)
	return w.metric("go_memstats_next_gc_bytes")/2 + w.metric("go_memstats_stack_inuse_bytes")/2
}

// metric is one that the worker tells.
func (w *world) metric(name string) float64 {
	w.b.Helper()
	resp, err := http.Get("http://" + w.hatch + "/metrics")
	if err != nil {
		w.b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				w.b.Fatal(err)
			}
			return v
		}
	}
	w.b.Fatalf("the worker tells no %s", name)
	return 0
}
