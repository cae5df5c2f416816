package bench

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
	"myao/workflows"
)

// refuseUnlessAsked is a model whose verdict is no, unless a message says "please answer".
func refuseUnlessAsked(c llmtest.Call) llmtest.Reply {
	if !c.Judgment() {
		return llmtest.Text("I see.")
	}
	respond := strings.Contains(c.User+c.System, "please answer")
	verdict, _ := json.Marshal(map[string]any{"should_respond": respond, "reason": "as told", "confidence": 0.9, "delay_seconds": 0})
	return llmtest.Text(string(verdict))
}

// quietChannels is the number of channels without judgments, for counting history events.
const quietChannels = 20

// measureCost counts what a message costs: history events, SQL statements, calls of the model,
// and Temporal actions.
func measureCost(b *bench) []row {
	w := build(b, settings{
		name: "cost", channels: 60, answer: refuseUnlessAsked, events: true,
		response: "min_wait_seconds: 1\njitter_ratio: 0\nmax_wait_seconds: 600\nfollow_up_wait_seconds: 1",
		more: func(channels []string) string { // quietChannels judge after hours only
			more := "channels:"
			for _, id := range channels[:quietChannels] {
				more += "\n  " + id + ": {min_wait_seconds: 3600, max_wait_seconds: 7200}"
			}
			return more
		},
	})
	defer w.close()
	w.pauseSchedules()
	rows := slices.Concat(w.historyRows(), w.statementRows())
	w.logActions()
	return append(rows, w.modelRows()...)
}

// pauseSchedules keeps scheduled work out of the cost of a message.
func (w *system) pauseSchedules() {
	w.b.Helper()
	schedules := w.Client.ScheduleClient()
	for _, id := range []string{"memory", "catch-up", "channel-sync", "retention", "hindsight"} {
		w.check(schedules.GetHandle(w.b.Context(), id).Pause(w.b.Context(), client.SchedulePauseOptions{Note: "measuring the cost of a message"}))
	}
}

// historyRows counts history events of messages in conversations without judgments.
func (w *system) historyRows() []row {
	b, writer := w.b, w.writer()
	n := b.scaled(60, 10)
	var spaced, bursts []float64
	for round := range b.rounds {
		slow, fast := place{channel: w.channels[2*round]}, place{channel: w.channels[2*round+1]}
		for range n {
			w.check(writer.say(b.Context(), slow.channel, "", writer.ts(), "one after the other"))
			time.Sleep(200 * time.Millisecond)
		}
		w.awaitDrained()
		spaced = append(spaced, float64(len(w.history(slow)))/float64(n))
		var group sync.WaitGroup
		for range n {
			group.Go(func() { w.check(writer.say(b.Context(), fast.channel, "", writer.ts(), "all at once")) })
		}
		group.Wait()
		w.awaitDrained()
		bursts = append(bursts, float64(len(w.history(fast)))/float64(n))
	}
	return []row{
		newRow("history events a message, spaced", "events", atMost(4.5, "events"), spaced...).withNote("%d messages, 200 ms apart; the start and the timer of the run are counted, too", n),
		newRow("history events a message, in bursts", "events", atMost(3.5, "events"), bursts...),
	}
}

func (w *system) check(err error) {
	w.b.Helper()
	if err != nil {
		w.b.Error(err)
	}
}

// history returns the events of a conversation's newest run.
func (w *system) history(p place) (events []*historypb.HistoryEvent) {
	w.b.Helper()
	for all := w.Client.GetWorkflowHistory(w.b.Context(), p.id(), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); all.HasNext(); {
		e, err := all.Next()
		testserver.Must(w.b, err)
		events = append(events, e)
	}
	return events
}

// statementRows counts the SQL statements of messages that come and are judged one by one: at the
// top level and in threads, in new and in old conversations. It subtracts what the idle
// programs do in the same time.
func (w *system) statementRows() []row {
	b, writer := w.b, w.writer()
	n := b.scaled(30, 4)
	quiet := b.scaledTime(20*time.Second, 2*time.Second)
	idle := w.statements(func() { time.Sleep(quiet) }) / quiet.Seconds()
	count := func(where func(i int) place) float64 {
		began := time.Now()
		before := w.count("SELECT COUNT(*) FROM decisions")
		all := w.statements(func() {
			for i := range n {
				p := where(i)
				w.check(writer.say(b.Context(), p.channel, p.thread, writer.ts(), "is anybody there?"))
				time.Sleep(100 * time.Millisecond)
			}
			b.await("the judgments", time.Minute, func() bool {
				return w.count("SELECT COUNT(*) FROM decisions") >= before+n
			})
			time.Sleep(time.Second) // for the work after the judgments
		})
		return (all - idle*time.Since(began).Seconds()) / float64(n)
	}
	thread := func(i int) string { return fmt.Sprintf("%d.000100", time.Now().Unix()/1000*1000-100_000+int64(i)) }
	top := func(i int) place { return place{channel: w.channels[20+i%30]} }
	reply := func(i int) place { return place{w.channels[20+i%30], thread(i)} }
	count(top) // fills the caches of names
	count(reply)
	fresh := []float64{count(top), count(reply)}
	w.addOldMessages()
	old := []float64{count(top), count(reply)}
	b.logf("statements: top level %.1f, thread %.1f; after %d messages in each %.1f and %.1f; idle %.1f/s", fresh[0], fresh[1], oldMessages, old[0], old[1], idle)
	return []row{
		newRow("SQL statements a message, door to judgment", "statements", atMost(12, "statements"), max(old[0], old[1])).
			withNote("at the top level %s, in a thread %s; in new conversations %s and %s; transactions begin and end apart", number(old[0]), number(old[1]), number(fresh[0]), number(fresh[1])),
		newRatioRow("SQL statements a message: growth with history", "statements", atMost(1.05, "×"), old, fresh),
	}
}

// oldMessages is the number of messages that addOldMessages adds to each conversation.
const oldMessages = 300

// addOldMessages adds old messages to the conversations of statementRows.
func (w *system) addOldMessages() {
	w.b.Helper()
	if _, err := w.db.ExecContext(w.b.Context(), `
		INSERT INTO messages (team_id, channel_id, ts, sent_us, thread_ts, user_id, text, handled, stored_us)
		SELECT m.team_id, m.channel_id, (m.sent_us / 1000000 - i)::text || '.' || LPAD((m.sent_us % 1000000)::text, 6, '0'), m.sent_us - i * 1000000::bigint, m.thread_ts, m.user_id, 'long ago', TRUE, 1
		FROM (SELECT DISTINCT ON (channel_id, thread_ts) * FROM messages ORDER BY channel_id, thread_ts, sent_us) m, generate_series(1, $1) i ON CONFLICT DO NOTHING`, oldMessages); err != nil {
		w.b.Fatal(err)
	}
}

// statements counts the SQL statements while do runs, without those of the search index: it follows
// every five seconds, however many messages there are.
func (w *system) statements(do func()) float64 {
	w.b.Helper()
	testserver.Must(w.b, testserver.ErrOf(w.db.ExecContext(w.b.Context(), "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")))
	before := w.count(allStatements)
	do()
	return float64(w.count(allStatements) - before)
}

// allStatements counts those of statements since the beginning.
const allStatements = `SELECT COALESCE(SUM(calls), 0)::bigint FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
	WHERE d.datname = current_database() AND s.userid <> current_user::regrole AND s.query NOT LIKE '%search%'`

// modelRows counts calls of the model: for a burst, and for the memories of a workspace with few
// changes.
func (w *system) modelRows() []row {
	b, writer := w.b, w.writer()
	n := b.scaled(100, 10)
	before := len(w.Model.Calls())
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			w.check(writer.say(b.Context(), w.channels[55], "", writer.ts(), "all at once, and to be judged"))
		})
	}
	group.Wait()
	b.await("the judgment", time.Minute, func() bool { return len(w.Model.Calls()) > before })
	time.Sleep(5 * time.Second)
	burst := len(w.Model.Calls()) - before

	const changed = 7
	channels := b.scaled(500, 20)
	for i := len(w.channels); i < channels; i++ {
		w.channels = append(w.channels, w.Workspace.AddChannel(workspace.Public, fmt.Sprintf("room-%d", i), w.person, w.Workspace.Bot().UserID))
	}
	for i := range channels {
		w.check(writer.say(b.Context(), w.channels[i], "", writer.ts(), "something to remember"))
	}
	sync, err := w.Client.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{TaskQueue: "myao"}, "ChannelSync", nil)
	if err == nil {
		err = sync.Get(b.Context(), nil)
	}
	testserver.Must(b, err)
	first := w.remember()
	for i := range changed {
		w.check(writer.say(b.Context(), w.channels[i*7%channels], "", writer.ts(), "something new"))
	}
	second := w.remember()
	third := w.remember()
	b.logf("memory: %d scopes at first, %d when %d channels have changed, %d when none has", first, second, changed, third)
	rows := []row{
		newRow("model calls, a burst of messages", "calls", exactly(1, "call"), float64(burst)).withNote("%d messages", n),
		newRow(fmt.Sprintf("memories made, %d channels with %d changed", channels, changed), "memories", exactly(changed+1, "memories"), float64(second)).
			withNote("the channels and the workspace; two calls each"),
		newRow("memories made, nothing changed", "memories", exactly(0, "memories"), float64(third)),
	}
	// Where a machine stalls, people seem to pause and work is retried: that adds judgments, events and statements.
	// The store's tests count statements without a clock.
	rows[1].counted, rows[2].counted = true, true
	return rows
}

// remember runs the memory workflow and returns the number of updated scopes. Each takes two calls.
func (w *system) remember() int {
	w.b.Helper()
	before := len(w.memoryCalls())
	run, err := w.Client.ExecuteWorkflow(w.b.Context(), client.StartWorkflowOptions{TaskQueue: "myao"}, workflows.Memory, workflows.MemoryInput{})
	testserver.Must(w.b, err)
	var out workflows.MemoryOutput
	testserver.Must(w.b, run.Get(w.b.Context(), &out))
	if out.Failed > 0 {
		w.b.Errorf("%d memories failed", out.Failed)
	}
	return (len(w.memoryCalls()) - before) / 2
}

func (w *system) memoryCalls() (calls []llmtest.Call) {
	for _, c := range w.Model.Calls() {
		if c.Model == "test-memory" {
			calls = append(calls, c)
		}
	}
	return calls
}

// logActions logs the actions that Temporal Cloud would bill.
func (w *system) logActions() {
	w.b.Helper()
	bot := w.Workspace.Bot().UserID
	silent, asked, addressed := place{channel: w.channels[56]}, place{channel: w.channels[57]}, place{channel: w.channels[58]}
	posts := len(w.Workspace.Posts())
	w.Workspace.Say(silent.channel, w.person, "is anybody there?")
	w.Workspace.Say(asked.channel, w.person, "please answer me")
	addressed.thread = w.Workspace.Say(addressed.channel, w.person, "<@"+bot+"> what about it?")
	w.b.await("two answers", time.Minute, func() bool { return len(w.Workspace.Posts()) == posts+2 })
	time.Sleep(2 * time.Second)
	for what, p := range map[string]place{"a message that is judged, and silence": silent, "a message that is judged and answered": asked,
		"a mention, in the thread of its answer": addressed, "a mention, in its channel": {channel: addressed.channel}} {
		events := w.history(p)
		kinds, all := actions(events)
		w.b.logf("actions: %s: %d (%d events, %d bytes): %v", what, all, len(events), w.size(p), kinds)
	}
}

// actions counts the actions that Temporal Cloud bills for a history
// (docs.temporal.io/evaluate/cloud/actions): each signal, with the start that it causes, timer,
// activity, upsert of search attributes, and update. All local activities of a workflow task
// are one action; our tasks have at most one.
func actions(events []*historypb.HistoryEvent) (kinds map[string]int, all int) {
	kinds = map[string]int{}
	for _, e := range events {
		switch e.EventType {
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, enums.EVENT_TYPE_TIMER_STARTED, enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
			enums.EVENT_TYPE_MARKER_RECORDED, enums.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, enums.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
			kinds[e.EventType.String()]++
			all++
		}
	}
	return kinds, all
}

// size returns the history size of a conversation's newest run, in bytes.
func (w *system) size(p place) int64 {
	w.b.Helper()
	d, err := w.Client.DescribeWorkflowExecution(w.b.Context(), p.id(), "")
	testserver.Must(w.b, err)
	return d.WorkflowExecutionInfo.HistorySizeBytes
}
