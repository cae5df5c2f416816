package bench

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

const (
	// dueChannels is the number of replies that become due without a worker, each in its own channel.
	dueChannels = 100
	// idlePerChannel is the number of idle conversations in each of the other channels.
	idlePerChannel = 100
	// delay is the verdicts' delay, down how long no worker runs.
	delay, down = 25 * time.Second, 30 * time.Second
	// cachedKiB is what a bare workflow takes in the SDK's cache, with one coroutine and hardly any
	// state: 10.7 KiB of heap and 8 KiB of stack, measured with 3,000 of them.
	cachedKiB = 19
)

// measureIdle measures the worker with thousands of waiting conversations: their memory, and how
// soon it posts replies that became due while it was down.
func measureIdle(b *bench) []row {
	idle := b.scaled(10_000, 200) - dueChannels
	w := build(b, settings{
		name: "idle", channels: dueChannels + (b.scaled(100_000, 400)+idlePerChannel-1)/idlePerChannel, events: true,
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

	empty := w.liveMemory()
	w.openConversations(0, idle)
	kept := w.liveMemory()
	rows := []row{newRow("worker: memory of an idle conversation", "KiB", atMost(1.5*cachedKiB, "KiB"), (kept-empty)/1024/float64(idle)).
		withNote("%d conversations; %d KiB is what the SDK's cache takes of a bare workflow; %.0f MiB in all, of which %.0f without any; resident %.0f MiB",
			idle, cachedKiB, kept/(1<<20), empty/(1<<20), w.metric("process_resident_memory_bytes")/(1<<20))}
	rows = append(rows, w.restartRows(floor, bare, idle)...)
	if *flagLong {
		rows = append(rows, w.openRow(idle, kept))
	}
	return rows
}

// openConversations writes one message in each of the idle conversations from number from up to
// number to, and returns once all of them wait.
func (w *system) openConversations(from, to int) {
	w.b.Helper()
	writer, began := w.writer(), time.Now()
	channels := w.channels[dueChannels:]
	done, failed, _ := closedLoop(w.b.Context(), 64, time.Hour, func(i int) error {
		if i += from; i >= to {
			return errStop
		}
		p := place{channels[i%len(channels)], fmt.Sprintf("1700000000.%06d", i)}
		return writer.say(w.b.Context(), p.channel, p.thread, writer.ts(), "one of many")
	})
	if failed > 0 {
		w.b.Errorf("%d messages were not acknowledged", failed)
	}
	w.awaitDrained()
	w.b.await("the workflow tasks to be done", 30*time.Minute, func() bool { return w.workflowTasks() == 0 })
	w.b.logf("idle: %d conversations wait after %s", done, time.Since(began).Round(time.Second))
}

// workflowTasks returns the approximate number of workflow tasks that wait for the worker.
func (w *system) workflowTasks() int64 {
	w.b.Helper()
	d, err := w.Client.WorkflowService().DescribeTaskQueue(w.b.Context(), &workflowservice.DescribeTaskQueueRequest{
		Namespace: w.Namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: conversation.TaskQueue}, TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW, ReportStats: true,
	})
	testserver.Must(w.b, err)
	return d.GetStats().GetApproximateBacklogCount()
}

// restartRows kills the worker while a hundred replies wait and starts it once they are due. It
// compares it with a bare worker that posts as well and has no other conversations.
func (w *system) restartRows(floor *bare, slack *bareSlack, idle int) []row {
	b := w.b
	var firsts, lasts, bareLasts []float64
	asked := 0
	for round := range b.rounds {
		first, last, bareFirst, bareLast := w.restart(floor, slack, round%2 == 0)
		asked += dueChannels
		firsts, lasts = append(firsts, first.Seconds()), append(lasts, last.Seconds())
		bareLasts = append(bareLasts, bareLast.Seconds())
		b.logf("restart: first reply after %.2f s, last after %.2f s; bare %.2f and %.2f s", first.Seconds(), last.Seconds(), bareFirst.Seconds(), bareLast.Seconds())
	}
	time.Sleep(2 * time.Second)
	posts := len(w.Workspace.Posts())
	note := fmt.Sprintf("lost %d, doubled %d of %d", max(0, asked-posts), max(0, posts-asked), asked)
	if posts != asked {
		b.Errorf("restart: %s", note)
	}
	return []row{
		newRow("restart of the worker to the first reply due", "s", atMost(5, "s"), firsts...).withNote("%d replies due of %d conversations that wait; %s", dueChannels, idle+dueChannels, note),
		newRatioRow("restart of the worker to the last reply due", "s", atMost(1.3, "×"), lasts, bareLasts),
	}
}

// restart kills both workers while replies wait, and starts one after the other once all are due.
// The first one takes a little longer, because the servers were idle. It returns the times
// from each start until the first and the last post. Like ours, the bare workflows are those
// of the round before, so both replay a history of several rounds.
func (w *system) restart(floor *bare, slack *bareSlack, oursFirst bool) (first, last, bareFirst, bareLast time.Duration) {
	b := w.b
	b.Helper()
	b.awaitCalm()
	before, decided := len(w.Workspace.Posts()), w.count("SELECT COUNT(*) FROM decisions")
	for i, channel := range w.channels[:dueChannels] {
		w.Workspace.Say(channel, w.person, "can anybody help me?")
		testserver.Must(b, floor.send(fmt.Sprintf("due-%d", i), bareMessage{ID: i, After: delay, Activities: 2, Slack: slack.api, Channel: slack.channels[i]}))
	}
	b.await("the judgments", time.Minute, func() bool {
		return w.count("SELECT COUNT(*) FROM decisions") >= decided+dueChannels
	})
	time.Sleep(500 * time.Millisecond) // until the workflows have the verdicts
	w.worker.Kill()
	floor.program.Kill()
	if n := len(w.Workspace.Posts()) - before; n > 0 {
		b.Fatalf("%d replies came before the worker was killed: the machine is too slow for this", n)
	}
	time.Sleep(down)
	b.awaitCalm()

	if oursFirst {
		first, last = b.replies(w.worker.Program, w.Workspace)
		b.awaitCalm()
	}
	bareFirst, bareLast = b.replies(floor.program, slack.workspace)
	if !oursFirst {
		b.awaitCalm()
		first, last = b.replies(w.worker.Program, w.Workspace)
	}
	return first, last, bareFirst, bareLast
}

// replies starts a program and returns the times until the first and the last of a hundred more
// posts.
func (b *bench) replies(program *testserver.Program, workspace *workspace.Workspace) (first, last time.Duration) {
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

// bareSlack is a workspace for the bare worker's posts. It sends no events.
type bareSlack struct {
	workspace *workspace.Workspace
	api       string // the address of its Web API
	channels  []string
}

func newBareSlack(b *bench) *bareSlack {
	b.Helper()
	s := &bareSlack{workspace: workspace.New(workspace.Config{LogLimit: 1000})}
	b.Cleanup(s.workspace.Close)
	api := httptest.NewServer(s.workspace.Handler())
	b.Cleanup(api.Close)
	s.api = api.URL + "/api/"
	for i := range dueChannels {
		s.channels = append(s.channels, s.workspace.AddChannel(workspace.Public, fmt.Sprintf("room-%d", i), s.workspace.Bot().UserID))
	}
	return s
}

// openRow opens ten times as many conversations as the worker caches, writes in some of them, and
// compares the worker's memory with that before.
func (w *system) openRow(idle int, kept float64) row {
	all, active := w.b.scaled(100_000, 400), w.b.scaled(1000, 20)
	for open := idle; open < all; open += idle {
		w.openConversations(open, min(all, open+idle))
	}
	writer, channels := w.writer(), w.channels[dueChannels:]
	openLoop(w.b.Context(), 50, active, func(i int, _ time.Time) {
		i *= all / active
		w.check(writer.say(w.b.Context(), channels[i%len(channels)], fmt.Sprintf("1700000000.%06d", i), writer.ts(), "once more"))
	})
	w.awaitDrained()
	now := w.liveMemory()
	return newRatioRow(fmt.Sprintf("worker: memory with %d conversations open, %d active", all, active), "MiB", atMost(1.2, "×"), []float64{now / (1 << 20)}, []float64{kept / (1 << 20)}).
		withNote("against %d open; resident %.0f MiB", idle+dueChannels, w.metric("process_resident_memory_bytes")/(1<<20))
}

// liveMemory returns the bytes of live heap and stacks in the worker at its last garbage
// collection. With GOGC=100 the collector's next goal is twice that.
func (w *system) liveMemory() float64 {
	w.b.Helper()
	time.Sleep(3 * time.Second)
	return w.metric("go_memstats_next_gc_bytes")/2 + w.metric("go_memstats_stack_inuse_bytes")/2
}

// metric returns one of the worker's metrics.
func (w *system) metric(name string) float64 {
	w.b.Helper()
	_, metrics := w.worker.Get("/metrics")
	for line := range strings.Lines(metrics) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			testserver.Must(w.b, err)
			return v
		}
	}
	w.b.Fatalf("the worker has no metric %s", name)
	return 0
}
