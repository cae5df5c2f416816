package inspector

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/operate/operator"
	"myao/internal/runtime/temporal"
	"myao/internal/store"
)

func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.Open(w.operator)
	w.worker.wrong = errors.New("it is immortal")
	order := func(channel, thread, user, order string, seconds int) string {
		raw, _ := json.Marshal(orderRequest{channel, thread, user, order, seconds})
		return string(raw)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/order", "", 400, "decode: EOF"},
		{"POST", "/order", "{", 400, "decode: unexpected EOF"},
		{"POST", "/order", `{"channel":1}`, 400, "decode: json: cannot unmarshal"},
		{"POST", "/order", `{"channel":"` + strings.Repeat("C", 1<<17) + `"}`, 400, "decode: http: request body too large"},
		{"POST", "/order", order("", "", "U1", "mute", 0), 400, `channel "": want the id of a channel`},
		{"POST", "/order", order("general", "", "U1", "mute", 0), 400, `channel "general": want the id of a channel`},
		{"POST", "/order", order("C1/../C2", "", "U1", "mute", 0), 400, "channel "},
		{"POST", "/order", order("C1", "1", "U1", "mute", 0), 400, `thread "1": want the ts of a message`},
		{"POST", "/order", order("C1", "", "", "mute", 0), 400, `user "": want the id of a user`},
		{"POST", "/order", order("C1", "", "alice", "mute", 0), 400, `user "alice": want the id of a user`},
		{"POST", "/order", order("C1", "", "U1", "", 0), 400, `order "": want answer-now, drop, snooze, mute or unmute`},
		{"POST", "/order", order("C1", "", "U1", "forget", 0), 400, `order "forget": want answer-now, drop, snooze, mute or unmute`},
		{"POST", "/order", order("C1", "", "U1", "snooze", 0), 400, "seconds 0: want 1 to 31622400"},
		{"POST", "/order", order("C1", "", "U1", "snooze", 31622401), 400, "seconds 31622401: want 1 to 31622400"},
		{"POST", "/order", order("C1", "", "U1", "answer-now", 0), 409, "nothing waits here: the conversation is idle"},
		{"POST", "/order", order("C1", "1700000000.000100", "U1", "drop", 0), 409, "nothing waits here: the conversation is idle"},
		{"POST", "/worker", "{", 400, "decode: "},
		{"POST", "/worker", "{}", 400, `do "": want kill or start`},
		{"POST", "/worker", `{"do":"freeze"}`, 400, `do "freeze": want kill or start`},
		{"POST", "/model", "{}", 400, "down: want true or false"},
		{"POST", "/model", `{"down":"yes"}`, 400, "decode: json: cannot unmarshal"},
		{"POST", "/remember", "", 400, "decode: EOF"},
		{"POST", "/remember", "{}", 503, "the starter has not created the memory schedule yet"},
		{"POST", "/forget-note", `{"channel":"general","user":"U1","id":1}`, 400, `channel "general": want the id of a channel`},
		{"POST", "/forget-note", `{"channel":"C1","user":"alice","id":1}`, 400, `user "alice": want the id of a user`},
		{"POST", "/forget-note", `{"channel":"C1","user":"U1","id":1}`, 409, "That note is gone already."},
		{"POST", "/forget", "{}", 404, "404 page not found"},
		{"GET", "/prompts", "", 400, "decision: want the key of one"},
		{"GET", "?channel=general", "", 400, `channel "general": want the id of a channel`},
		{"GET", "?thread=1700000000.000100", "", 400, `channel "": want the id of a channel`},
		{"GET", "?channel=C1&thread=x", "", 400, `thread "x": want the ts of a message`},
		{"GET", "/order", "", 405, "Method Not Allowed"},
		{"GET", "/worker", "", 405, "Method Not Allowed"},
		{"POST", "", "{}", 405, "Method Not Allowed"},
		{"POST", "/prompts?decision=1", "{}", 405, "Method Not Allowed"},
		{"DELETE", "/model", "{}", 405, "Method Not Allowed"},
		{"POST", "/worker", `{"do":"kill"}`, 500, "it is immortal"},
	} {
		if status, said := w.do(c.method, "/sandbox/mind"+c.path, c.body); status != c.status || !strings.HasPrefix(said, c.says) {
			t.Errorf("%s %s %.80s: %d %q, want %d %q", c.method, c.path, c.body, status, said, c.status, c.says)
		}
	}
	if w.model.Down() {
		t.Error("the model is down all the same")
	}
}

func TestOrderResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int // 0: neither the visitor's fault nor temporary
		says   string
	}{
		{fmt.Errorf("drop: %w", &operator.Refused{Text: "nothing waits here"}), 409, "nothing waits here"},
		{fmt.Errorf("%w: deadline exceeded", operator.ErrNoWorker), 503, "not carried out within 10s: no worker answers: deadline exceeded"},
		{fmt.Errorf("%w: refused", operator.ErrNoServer), 503, "not carried out within 10s: temporal does not answer: refused"},
		{errors.New("out of disk"), 0, "out of disk"},
	} {
		err := orderError(c.err)
		var f *httpError
		if errors.As(err, &f); err.Error() != c.says || f == nil != (c.status == 0) || f != nil && f.status != c.status {
			t.Errorf("%v: %#v", c.err, err)
		}
	}
	if orderError(nil) != nil {
		t.Error("what was carried out has failed")
	}
}

func TestOrdersNameTheVisitor(t *testing.T) {
	w := newWorld(t)
	w.Open(w.operator)
	w.says(top, 0, "1700000001.000100")
	p := w.open("?channel=C1")
	e := p.await("the delay", func(e event) bool { return e.phase() == conversation.Delaying })
	if v := e.State.Verdict; v == nil || v.Reason != "nobody answered" || v.DelaySeconds == nil || *v.DelaySeconds != 600 {
		t.Errorf("verdict %+v", v)
	}
	w.done("order", `{"channel":"C1","user":"W7","order":"mute"}`)
	orders, err := w.operator.Store.Orders(t.Context(), "T1", "C1", time.Time{}, 10)
	if err != nil || len(orders) != 1 || orders[0].By != "slack:W7" || orders[0].Kind != "mute" {
		t.Errorf("orders %+v, %v", orders, err)
	}
}

// A page shows the notes of its channel alone, and takes back no other ones.
func TestNotes(t *testing.T) {
	w := newWorld(t)
	w.Open(w.operator)
	for _, channel := range []string{"C1", "C2"} {
		if _, err := w.operator.Store.AddNote(t.Context(), "T1", channel, "step of "+channel, chat.Note{TS: "1700000001.000100", Author: "U1", Text: "kept in " + channel}); err != nil {
			t.Fatal(err)
		}
	}
	p := w.open("?channel=C1")
	has := func(n int) func(event) bool { return func(e event) bool { return len(e.Notes) == n } }
	e := p.await("the note", has(1))
	if n := e.Notes[0]; n.Text != "kept in C1" || n.Author != "U1" || n.Noted.IsZero() {
		t.Errorf("note %+v", n)
	}
	take := func(channel string) string {
		return fmt.Sprintf(`{"channel":%q,"user":"W7","id":%d}`, channel, e.Notes[0].ID)
	}
	if status, says := w.do("POST", "/sandbox/mind/forget-note", take("C2")); status != 409 {
		t.Errorf("of another channel: %d %s", status, says)
	}
	w.done("forget-note", take("C1"))
	p.await("no note", has(0))
	orders, err := w.operator.Store.Orders(t.Context(), "T1", "C1", time.Time{}, 10)
	if err != nil || len(orders) != 1 || orders[0].By != "slack:W7" || orders[0].Kind != "forget-note" {
		t.Errorf("orders %+v, %v", orders, err)
	}
}

// A thread's page shows its own promises, its channel's page those of every thread. One that has ended is still shown.
func TestPromises(t *testing.T) {
	w := newWorld(t)
	w.Open(w.operator)
	db, due := w.operator.Store, time.Now().Add(time.Hour)
	for id, c := range map[string]chat.Conversation{"at the top": top, "in a thread": thread, "elsewhere": {Team: "T1", Channel: "C2"}} {
		p := store.Promise{Choice: store.Choice{ID: id, TeamID: c.Team, ChannelID: c.Channel, ThreadTS: c.Thread, TriggerTS: "1700000001.000100", Decision: id, Asker: "U1"}, What: id, Unless: "no", DueUS: due.UnixMicro()}
		if _, err := db.AddPromise(t.Context(), p, store.PromiseLimits{Conversation: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ShowPromises(t.Context(), id, "1700000002.000100"); err != nil {
			t.Fatal(err)
		}
	}
	all, own := w.open("?channel=C1"), w.open("?channel=C1&thread="+thread.Thread)
	has := func(n int, last store.PromiseState) func(event) bool {
		return func(e event) bool { return len(e.Promises) == n && e.Promises[n-1].State == last }
	}
	all.await("both promises", has(2, store.PromiseOpen))
	e := own.await("the thread's promise", has(1, store.PromiseOpen))
	if p := e.Promises[0]; p.ID != "in a thread" || p.ThreadTS != thread.Thread || p.ShownTS != "1700000002.000100" || p.Asker != "U1" || p.Due.Sub(due).Abs() > time.Millisecond {
		t.Errorf("promise %+v", p)
	}
	if _, _, _, err := db.CancelPromise(t.Context(), "in a thread", "slack:U2"); err != nil {
		t.Fatal(err)
	}
	own.await("its end", has(1, store.PromiseCancelled))
	if e := all.await("its end, after the open one", has(2, store.PromiseCancelled)); e.Promises[0].ID != "at the top" || e.Promises[1].EndedBy != "slack:U2" {
		t.Errorf("promises %+v", e.Promises)
	}
}

// An unmute of a thread reports that its channel's mute continues.
func TestUnmuteOfAThread(t *testing.T) {
	w := newWorld(t)
	w.Open(w.operator)
	unmute := func(thread string, status int, says string) {
		t.Helper()
		body := `{"channel":"C1","thread":"` + thread + `","user":"U1","order":"unmute"}`
		if got, said := w.do(http.MethodPost, "/sandbox/mind/order", body); got != status || said != says {
			t.Errorf("unmute of %q: %d %s, want %d %s", thread, got, said, status, says)
		}
	}
	const thread = "1700000000.000100"
	w.done("order", `{"channel":"C1","user":"U1","order":"mute"}`)
	w.done("order", `{"channel":"C1","thread":"`+thread+`","user":"U1","order":"mute"}`)
	unmute(thread, http.StatusConflict, "The thread stays silent with its channel, until that is unmuted.")
	unmute("", http.StatusNoContent, "")
	unmute(thread, http.StatusNoContent, "")
	if until, err := w.operator.Store.SilencedUntil(t.Context(), chat.Conversation{Team: "T1", Channel: "C1", Thread: thread}); err != nil || !until.IsZero() {
		t.Errorf("silent until %v, %v", until, err)
	}
}

func TestPrompts(t *testing.T) {
	w := newWorld(t)
	status, said := w.do(http.MethodGet, "/sandbox/mind/prompts?decision=T1%2FC1%2F%2F1%2Fjudgment", "")
	var got []map[string]any
	if err := json.Unmarshal([]byte(said), &got); status != 200 || err != nil || len(got) != 1 {
		t.Fatalf("%d %s", status, said)
	}
	for key, want := range map[string]any{
		"purpose": "judgment", "model": "small", "at": "2023-11-14T22:13:20Z", "system": "<b>who you are</b>", "prompt": "speak?", "answer": "no", "error": "",
	} {
		if got[0][key] != want {
			t.Errorf("%s is %v, want %v", key, got[0][key], want)
		}
	}
	if status, said := w.do(http.MethodGet, "/sandbox/mind/prompts?decision=other", ""); status != 200 || said != "[]" {
		t.Errorf("of another decision: %d %s", status, said)
	}
}

// A message sent just now is remembered, even if a running memory run has passed it already.
func TestRemember(t *testing.T) {
	w := newWorld(t)
	w.Open(w.operator)
	if err := temporal.EnsureSchedule(t.Context(), w.operator.Client, temporal.Schedule{ID: temporal.MemorySchedule, Every: 1000 * time.Hour, Workflow: "Memory"}); err != nil {
		t.Fatal(err)
	}
	running := func() (runs []*commonpb.WorkflowExecution) {
		r, err := w.operator.Client.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: "WorkflowType = 'Memory' AND ExecutionStatus = 'Running'",
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range r.GetExecutions() {
			runs = append(runs, info.GetExecution())
		}
		return runs
	}
	w.done("remember", "{}")
	var first *commonpb.WorkflowExecution
	w.await("the run", func() bool {
		runs := running()
		if len(runs) == 1 {
			first = runs[0]
		}
		return first != nil
	})
	w.done("remember", "{}")
	if err := w.operator.Client.SignalWorkflow(t.Context(), first.WorkflowId, first.RunId, "over", nil); err != nil {
		t.Fatal(err)
	}
	w.await("the next run", func() bool { now := running(); return len(now) == 1 && now[0].RunId != first.RunId })
}
