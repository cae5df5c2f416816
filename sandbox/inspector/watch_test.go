package inspector

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/conversation"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

func TestViewBeforeStart(t *testing.T) {
	w := newWorld(t)
	w.worker.pretend(Starting)
	e := w.open("?channel=C1").next()
	if e.Worker != Starting || e.Problem != "Temporal, the worker and the starter are still starting" || e.State != nil || e.Open || e.URL != "" || *e.Conversation != top ||
		string(e.raw["state"]) != "null" || string(e.raw["memories"]) != "[]" || !strings.Contains(string(e.raw["story"]), `"entries":[]`) {
		t.Errorf("%+v", e)
	}
	for _, body := range []string{"order", "remember"} {
		if status, said := w.do(http.MethodPost, "/sandbox/mind/"+body, `{"channel":"C1","user":"U1","order":"mute"}`); status != 503 || said != "everything is still starting" {
			t.Errorf("%s: %d %s", body, status, said)
		}
	}

	// Without a conversation, a frame has only the sandbox's state.
	p := w.open("")
	if e := p.next(); len(e.raw) != 4 || e.Worker != Starting || e.Model != "up" || e.Faults == nil || time.Since(e.Now) > time.Minute {
		t.Errorf("%s", e.raw)
	}
	w.done("model", `{"down":true}`)
	if e := p.next(); e.Model != "down" {
		t.Errorf("%s", e.raw)
	}
	w.done("model", `{"down":false}`)
	if e := p.next(); e.Model != "up" {
		t.Errorf("%s", e.raw)
	}
	w.mu.Lock()
	w.faults = []string{"limited", "again"}
	w.mu.Unlock()
	if e := p.next(); strings.Join(e.Faults, " ") != "limited again" {
		t.Errorf("%s", e.raw)
	}
	w.worker.pretend(Running)
	if e := p.next(); e.Worker != Running {
		t.Errorf("%s", e.raw)
	}
}

func TestConversationIsFollowed(t *testing.T) {
	w := newWorld(t)
	w.Open(w.operator)
	p := w.open("?channel=C1&thread=" + thread.Thread)
	e := p.next()
	if *e.Conversation != thread || e.Workflow != thread.ID() || e.Open || e.URL != "" || e.Problem != "" || e.phase() != conversation.Idle || e.Asked.IsZero() {
		t.Errorf("an unknown conversation: %s", e.raw)
	}

	w.keep(thread, "1700000001.000100", "what is for lunch?")
	w.says(thread, 3600, "1700000001.000100")
	e = p.await("the wait", func(e event) bool {
		return e.phase() == conversation.Waiting && len(e.Story.Entries) > 0 && e.Problem == ""
	})
	if !e.Open || e.State.DueAt.Before(time.Now()) || len(e.State.Pending) != 1 || e.State.Seen != nil ||
		!strings.HasPrefix(e.URL, w.WebUI+"thread%2FT1%2FC1%2F1700000000.000100/") || strings.Contains(string(e.raw["story"]), "lunch") {
		t.Errorf("waiting: %s", e.raw)
	}
	// A new row in the ledger appears, though Temporal has nothing new. The worker is asked only until the
	// workflow rests, which it may not have done yet.
	asked := time.Time{}
	for n := 1; !e.Asked.Equal(asked); n++ {
		if asked = e.Asked; n > 10 {
			t.Fatal("the worker was asked though nothing has changed")
		}
		d := store.Decision{
			Key: fmt.Sprint("D", n), WorkflowID: thread.ID(), TriggerTS: "1700000001.000100", Source: "rule", Rule: "muted", Reason: "hush", Outcome: "silent",
		}
		if err := w.operator.Store.Decide(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		e = p.await("the decision", func(e event) bool {
			return slices.ContainsFunc(e.Story.Entries, func(entry timeline.Entry) bool { return entry.Decision != nil && entry.Decision.Key == d.Key })
		})
	}

	// An operator's orders appear as they are carried out.
	w.done("order", `{"channel":"C1","thread":"`+thread.Thread+`","user":"U1","order":"drop"}`)
	e = p.await("the drop", func(e event) bool {
		return e.phase() == conversation.Idle && e.Asked.After(asked) && slices.ContainsFunc(e.Story.Entries, func(entry timeline.Entry) bool {
			return entry.Order != nil && entry.Order.Kind == "drop" && entry.Order.By == "slack:U1"
		})
	})
	if e.State.Pending != nil || !e.Open {
		t.Errorf("dropped: %s", e.raw)
	}
	w.done("order", `{"channel":"C1","thread":"`+thread.Thread+`","user":"U1","order":"snooze","seconds":3600}`)
	if e = p.await("the snooze", func(e event) bool { return !e.Silenced.IsZero() }); time.Until(e.Silenced) > time.Hour || time.Until(e.Silenced) < 50*time.Minute {
		t.Errorf("silent until %s", e.Silenced)
	}
	w.done("order", `{"channel":"C1","thread":"`+thread.Thread+`","user":"U1","order":"unmute"}`)
	p.await("the end of it", func(e event) bool { return e.Silenced.IsZero() })
	w.done("order", `{"channel":"C1","thread":"`+thread.Thread+`","user":"U1","order":"snooze","seconds":1}`)
	// It may be over before anybody has looked.
	p.await("the end of a short snooze", func(e event) bool {
		snoozes := 0
		for _, entry := range e.Story.Entries {
			if entry.Order != nil && entry.Order.Kind == "snooze" {
				snoozes++
			}
		}
		return snoozes == 2 && e.Silenced.IsZero()
	})

	if err := w.operator.Client.TerminateWorkflow(t.Context(), thread.ID(), "", "it is over"); err != nil {
		t.Fatal(err)
	}
	if e = p.await("the end", func(e event) bool { return !e.Open }); e.URL == "" || e.State == nil {
		t.Errorf("ended: %s", e.raw)
	}
}

func TestWorkerRestart(t *testing.T) {
	w := newWorld(t)
	w.Open(w.operator)
	p := w.open("?channel=C1")
	w.says(top, 3600, "1700000001.000100")
	before := p.await("the wait", func(e event) bool { return e.phase() == conversation.Waiting })

	w.settle()
	w.done("worker", `{"do":"kill"}`)
	e := p.await("the death", func(e event) bool { return e.Worker == Stopped })
	if e.Problem != "the worker is stopped; this is the last known state of the conversation" || e.phase() != conversation.Waiting || !e.Open ||
		e.Asked.Before(before.Asked) || !e.State.DueAt.Equal(before.State.DueAt) {
		t.Errorf("what was known is not kept: %s", e.raw)
	}
	before = e
	// Something happens that only Temporal and the database see, and no worker is queried.
	queried := w.calls.queried.Load()
	w.keep(top, "1700000002.000100", "hello?")
	w.says(top, 3600, "1700000002.000100")
	e = p.await("the message", func(e event) bool { return len(e.Story.Entries) == 1 })
	if len(e.State.Pending) != 1 || !e.Asked.Equal(before.Asked) {
		t.Errorf("unexpected: %s", e.raw)
	}

	// A new page immediately shows what is known without a worker.
	late := w.open("?channel=C1").next()
	if late.State != nil || late.Phase != conversation.Waiting || !late.Open || late.URL != e.URL || len(late.Story.Entries) != 1 ||
		late.Problem != "the worker is stopped; without it the state of the conversation is unknown" {
		t.Errorf("the conversation of a dead worker: %s", late.raw)
	}
	if status, said := w.do(http.MethodPost, "/sandbox/mind/order", `{"channel":"C1","user":"U1","order":"drop"}`); status != 503 ||
		said != "the worker is stopped: start it first" {
		t.Errorf("an order to nobody: %d %s", status, said)
	}
	if n := w.calls.queried.Load(); n != queried {
		t.Errorf("a dead worker was asked %d times", n-queried)
	}

	w.done("worker", `{"do":"start"}`)
	e = p.await("the return", func(e event) bool { return e.Worker == Running && e.Asked.After(before.Asked) })
	if e.Problem != "" || len(e.State.Pending) != 2 || e.Phase != "" {
		t.Errorf("back again: %s", e.raw)
	}
}

// A worker may run and not answer. Nobody waits for it, and it is not queried again and again.
func TestUnresponsiveWorker(t *testing.T) {
	w := newWorld(t)
	w.Open(w.operator)
	w.says(top, 3600, "1700000001.000100")
	w.open("?channel=C1").await("the wait", func(e event) bool { return e.phase() == conversation.Waiting })
	t.Cleanup(w.calls.hold())
	if err := w.worker.Kill(); err != nil {
		t.Fatal(err)
	}
	w.worker.pretend(Running)
	w.calls.queried.Store(0)
	p := w.open("?channel=C1")
	w.await("a question", func() bool { return w.calls.querying.Load() > 0 })
	// There are many refreshes while the query is pending.
	described := w.calls.described.Load()
	w.await("refreshes", func() bool { return w.calls.described.Load() > described+8 })
	w.keep(top, "1700000002.000100", "hello?")
	w.done("model", `{"down":true}`)
	e := p.await("something else", func(e event) bool { return e.Model == "down" && len(e.Story.Entries) == 1 })
	if e.State != nil || !e.Open {
		t.Errorf("%s", e.raw)
	}
	if n := w.calls.atOnce.Load(); n > 2 { // one a page
		t.Errorf("asked %d times at once", n)
	}
	if n := w.calls.queried.Load(); n > 2 {
		t.Errorf("asked %d times while there was no answer", n)
	}
}

func TestWorkerIsQueriedOnlyAfterChanges(t *testing.T) {
	w := newWorld(t)
	w.Open(w.operator)
	w.says(top, 3600, "1700000001.000100")
	p := w.open("?channel=C1")
	last := p.await("the wait", func(e event) bool { return e.phase() == conversation.Waiting })
	described, answered := w.calls.described.Load(), w.calls.answered.Load()
	w.await("some refreshes", func() bool { return w.calls.described.Load() >= described+6 })
	if n := w.calls.answered.Load() - answered; n > 1 { // the last task may have ended after the answer
		t.Errorf("%d queries in 6 refreshes without a change", n)
	}
	for len(p.events) > 0 {
		e := <-p.events
		if e.Asked.Equal(last.Asked) && e.Problem == last.Problem {
			t.Errorf("told though nothing happened: %s", e.raw)
		}
		last = e
	}
}

func TestTemporalUnavailable(t *testing.T) {
	w := newWorld(t)
	w.operator.Client = w.dial("127.0.0.1:1")
	w.serve(t.Context()) // whose limits are not extended
	w.Open(w.operator)
	w.keep(top, "1700000002.000100", "hello?")
	e := w.open("?channel=C1").await("the message", func(e event) bool { return len(e.Story.Entries) == 1 })
	if e.Problem != "Temporal does not answer" || e.Open || e.State != nil {
		t.Errorf("%s", e.raw)
	}
	if status, said := w.do(http.MethodPost, "/sandbox/mind/remember", `{}`); status != 503 || !strings.HasPrefix(said, "start the memory run: ") {
		t.Errorf("remember: %d %s", status, said)
	}
}

func TestDatabaseUnavailable(t *testing.T) {
	w := newWorld(t)
	w.Open(w.operator)
	w.says(top, 3600, "1700000001.000100")
	p := w.open("?channel=C1")
	p.await("the wait", func(e event) bool { return e.phase() == conversation.Waiting })
	if err := w.operator.Store.Close(); err != nil {
		t.Fatal(err)
	}
	e := p.await("the trouble", func(e event) bool { return strings.HasPrefix(e.Problem, "the database does not answer: ") })
	if e.phase() != conversation.Waiting {
		t.Errorf("%s", e.raw)
	}
}

func TestStreamEndsWithItsPage(t *testing.T) {
	w := newWorld(t)
	w.Open(w.operator)
	for _, query := range []string{"", "?channel=C1"} {
		p := w.open(query)
		p.next()
		select {
		case path := <-w.ended:
			t.Fatalf("%s%s has ended", path, query)
		default:
		}
		p.close()
		select {
		case <-w.ended:
		case <-time.After(time.Minute):
			t.Fatalf("the stream of %q goes on without its page", query)
		}
	}
	// The same for a stream that waits for a worker.
	w.says(top, 3600, "1700000001.000100")
	if err := w.worker.Kill(); err != nil {
		t.Fatal(err)
	}
	w.worker.pretend(Running)
	release := w.calls.hold()
	t.Cleanup(release)
	p := w.open("?channel=C1")
	w.await("a question", func() bool { return w.calls.querying.Load() > 0 })
	p.close()
	select {
	case <-w.ended:
	case <-time.After(time.Minute):
		t.Fatal("the stream waits for the worker, and nobody for the stream")
	}
	release()
	w.await("the question to be taken back", func() bool { return w.calls.querying.Load() == 0 })
}
