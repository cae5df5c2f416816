package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/conversation"
	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/testserver"
)

// The message is in Slack, but the bot gets an error. It must not post again.
func TestSlackFailsAfterTheEffect(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sandbox.Fault{
		"503":                 {AfterEffect: true, Status: 503},
		"connection lost":     {AfterEffect: true, LoseAnswer: true},
		"internal_error":      {AfterEffect: true, Error: "internal_error"},
		"answer is no JSON":   {AfterEffect: true, Garble: true},
		"hidden for a second": {AfterEffect: true, Status: 503, Hide: time.Second},
		"slow past timeout":   {AfterEffect: true, Delay: 12 * time.Second},
		"hidden past timeout": {AfterEffect: true, Delay: 12 * time.Second, Hide: 15 * time.Second},
	} {
		fault.Method, fault.Times = "chat.postMessage", 1
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, where := range []string{"thread", "top level"} {
				t.Run(where, func(t *testing.T) {
					t.Parallel()
					s := start(t, sqlite(t), quiet(1), modelAnswers(judgeAndAnswer("once", llmtest.Yes("asked", 1, 0))))
					s.workspace.Faults().Add(fault)
					text := "a question?"
					if where == "thread" {
						text = s.mention(text)
					}
					s.workspace.Say(s.general, s.alice.ID, text)
					s.await("the post", 20*time.Second, func() bool { return len(s.posts()) == 1 })
					s.await("the outbox to know", 60*time.Second, func() bool { return s.countOutcomes("posted") == 1 })
					s.never("a second post", 3*time.Second, func() bool { return len(s.posts()) > 1 })
				})
			}
		})
	}
}

// Slack refuses the message. The bot posts it again, once.
func TestSlackFailsWithoutEffect(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sandbox.Fault{
		"429 with Retry-After": {Status: 429, RetryAfter: "2"},
		"429 without":          {Status: 429},
		"ratelimited":          {Error: "ratelimited"},
		"503":                  {Status: 503},
		"connection lost":      {LoseAnswer: true},
		"fatal_error":          {Error: "fatal_error"},
	} {
		fault.Method, fault.Times = "chat.postMessage", 2
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sqlite(t))
			s.workspace.Faults().Add(fault)
			s.workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
			s.await("the answer", 60*time.Second, func() bool { return len(s.posts()) == 1 })
			s.await("the ledger", 20*time.Second, func() bool { return s.countOutcomes("posted") == 1 })
			s.never("a second post", 3*time.Second, func() bool { return len(s.posts()) > 1 })
		})
	}
}

func TestModelFailsForAWhile(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), modelAnswers(llmtest.Script(
		llmtest.Fail(503), llmtest.Reply{Status: 429, RetryAfter: "1"}, llmtest.Fail(500), llmtest.Reply{Drop: true}, llmtest.Text("at last"))))
	s.workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("the answer", 60*time.Second, func() bool { return len(s.posts()) == 1 })
	if got := s.posts()[0].Text; got != "at last" {
		t.Errorf("posted %q", got)
	}
	s.model.Handle(llmtest.Script(llmtest.Fail(503), llmtest.Fail(503), llmtest.Yes("judged at last", 1, 0), llmtest.Text("judged")))
	s.workspace.Say(s.general, s.bob.ID, "a question?")
	s.await("the judged answer", 60*time.Second, func() bool { return len(s.posts()) == 2 })
}

func TestModelFailsForGood(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), modelAnswers(llmtest.Script(llmtest.Reply{Status: 400, Message: "no"})))
	ts := s.workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("the note", 30*time.Second, func() bool { return len(s.posts()) == 1 })
	if p := s.posts()[0]; p.ThreadTS != ts || p.Text == "" {
		t.Errorf("posted %q in thread %q", p.Text, p.ThreadTS)
	}
	s.workspace.Say(s.general, s.bob.ID, "a question?")
	s.await("the judgment", 30*time.Second, func() bool { return len(s.judgments()) == 1 })
	s.never("more than silence", 5*time.Second, func() bool { return len(s.posts()) > 1 })
	if rows := s.decisions("channel/T0E2E/" + s.general); len(rows) != 1 || rows[0].Outcome != "failed" {
		t.Errorf("ledger: %+v; want one failed judgment", rows)
	}
	for _, p := range []*program{s.worker, s.starter} {
		for _, secret := range []string{"xoxb-e2e", "shh-signing", "AQ.secret-key"} {
			if strings.Contains(p.log.String(), secret) {
				t.Errorf("%s logged the secret %s", p.name, secret)
			}
		}
	}
}

func TestEmptyModelAnswersEndInANote(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), modelAnswers(llmtest.Script(llmtest.Reply{})))
	s.workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("the note", 30*time.Second, func() bool { return len(s.posts()) == 1 })
	if n := len(s.replies()); n != 3 {
		t.Errorf("asked %d times for an answer that stayed empty, want 3", n)
	}
}

// countOutcomes counts the decisions of all conversations in #general with an outcome.
func (s *system) countOutcomes(want conversation.Outcome) int {
	n := 0
	for id := range s.conversationIDs() {
		for _, r := range s.decisions(id) {
			if r.Outcome == want {
				n++
			}
		}
	}
	return n
}

func (s *system) conversationIDs() map[string]bool {
	ids := map[string]bool{}
	for _, m := range s.workspace.Messages(s.general) {
		ids["channel/T0E2E/"+s.general] = true
		ids["thread/T0E2E/"+s.general+"/"+m.TS] = true
	}
	return ids
}

// TestKilledWorker kills the worker while a reply is pending. TestKilledBetweenAnyTwoSteps kills
// it within judging, composing and posting.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	slow := func(d time.Duration) llmtest.Handler {
		return func(c llmtest.Call) llmtest.Reply {
			if c.Judgment() {
				return llmtest.Yes("asked", 1, 4)
			}
			return llmtest.Reply{Text: "once", Delay: d}
		}
	}
	ask := func(s *system) { s.workspace.Say(s.general, s.alice.ID, "a question?") }
	mention := func(s *system) { s.workspace.Say(s.general, s.alice.ID, s.mention("a question?")) }
	for name, c := range map[string]struct {
		say  func(*system)
		when func(*system) bool
		slow time.Duration
	}{
		"while waiting":  {say: ask, when: func(s *system) bool { return len(s.workspace.Deliveries()) > 0 }},
		"while delaying": {say: ask, when: func(s *system) bool { return s.countOutcomes("pending") == 1 }},
		"while composing": {say: mention, slow: 3 * time.Second,
			when: func(s *system) bool { return len(s.replies()) == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sqlite(t), quiet(3), modelAnswers(slow(c.slow)))
			c.say(s)
			s.await("the moment to kill", 30*time.Second, func() bool { return c.when(s) })
			s.worker.kill()
			s.worker.start()
			s.await("the answer", 60*time.Second, func() bool { return s.countOutcomes("posted") == 1 })
			s.never("a doubled answer", 3*time.Second, func() bool { return len(s.posts()) != 1 })
		})
	}
}

// TestKilledStarter kills the starter repeatedly while people write. Every message that was
// acknowledged, or retried by Slack, is answered exactly once.
func TestKilledStarter(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, url string) {
		t.Parallel()
		s := start(t, url)
		const n = 12
		said := map[string]bool{}
		for i := range n {
			said[s.workspace.Say(s.general, s.alice.ID, s.mention(fmt.Sprintf("question %d?", i)))] = true
			if i%4 == 1 {
				s.starter.kill()
				s.starter.start()
			}
			time.Sleep(150 * time.Millisecond)
		}
		s.await("all answers", 90*time.Second, func() bool { return len(s.posts()) >= n })
		s.never("a doubled answer", 4*time.Second, func() bool { return len(s.posts()) > n })
		for _, p := range s.posts() {
			if !said[p.ThreadTS] {
				t.Errorf("thread %q has an answer without a question, or two answers", p.ThreadTS)
			}
			delete(said, p.ThreadTS)
		}
	})
}

// Without Temporal events are still acknowledged, and answered once Temporal is back.
func TestTemporalOutage(t *testing.T) {
	t.Parallel()
	server := testserver.StartTemporal(t, t.TempDir()+"/temporal.db", 0)
	s := start(t, sqlite(t), quiet(2), modelAnswers(judgeAndAnswer("back", llmtest.No("no"))), func(o *settings) { o.temporal = server.Address })
	server.Kill()
	for i := range 5 {
		s.workspace.Say(s.general, s.alice.ID, s.mention(fmt.Sprintf("question %d?", i)))
	}
	s.await("Slack to be acknowledged", 30*time.Second, func() bool {
		acked := 0
		for _, d := range s.workspace.Deliveries() {
			if d.Status == http.StatusOK && d.Type == "message" {
				acked++
			}
		}
		return acked == 5
	})
	resp, err := http.Get("http://" + s.door + "/readyz")
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("readyz without Temporal: %v %v, want 503", resp, err)
	}
	server.Restart()
	s.await("all answers", 90*time.Second, func() bool { return len(s.posts()) == 5 })
	s.never("a doubled answer", 3*time.Second, func() bool { return len(s.posts()) > 5 })
}

// TestTemporalLosesItsData replaces Temporal's database by an empty one, without the search
// attributes.
func TestTemporalLosesItsData(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "temporal.db")
	server := testserver.StartTemporal(t, db, 0)
	s := start(t, sqlite(t), func(o *settings) { o.temporal = server.Address })
	s.workspace.Say(s.general, s.alice.ID, s.mention("before?"))
	s.await("the first answer", 20*time.Second, func() bool { return len(s.posts()) == 1 })
	server.Kill()
	files, err := filepath.Glob(db + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of Temporal's: %v, %v", files, err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	s.workspace.Say(s.general, s.alice.ID, s.mention("meanwhile?"))
	server.Restart()
	s.register(s.namespaceName)
	s.workspace.Say(s.general, s.alice.ID, s.mention("after?"))
	s.await("the other answers", 90*time.Second, func() bool { return len(s.posts()) == 3 })
}

func TestEventsOutOfOrder(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(2), modelAnswers(judgeAndAnswer("no", llmtest.Yes("x", 1, 0))))
	// The deletion overtakes the message.
	s.workspace.Faults().AddEvent(sandbox.EventFault{Times: 1, Hold: 1})
	ts := s.workspace.Say(s.general, s.alice.ID, "deleted-at-once?")
	s.workspace.Delete(s.general, ts)
	s.never("a judgment of what was deleted", 6*time.Second, func() bool { return len(s.judgments()) > 0 })
	// The edit overtakes the message.
	s.workspace.Faults().AddEvent(sandbox.EventFault{Times: 1, Hold: 1})
	ts = s.workspace.Say(s.general, s.alice.ID, "first-wording?")
	s.workspace.Edit(s.general, ts, "second-wording?")
	s.await("the answer", 20*time.Second, func() bool { return len(s.posts()) == 1 })
	if got := s.judgments()[0].System; !strings.Contains(got, "second-wording?") || strings.Contains(got, "first-wording?") {
		t.Errorf("the judgment did not see the edit:\n%s", got)
	}
}

func TestStoppedWorkerLeavesAPendingReplyToTheNext(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), modelAnswers(func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Text: "hello", Delay: 2 * time.Second}
	}))
	s.workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("the model to be asked", 20*time.Second, func() bool { return len(s.replies()) == 1 })
	s.worker.stop()
	s.starter.stop()
	s.worker.start()
	s.await("the answer", 60*time.Second, func() bool { return len(s.posts()) == 1 })
	s.worker.stop()
}

// A worker that stops during a post finishes it or leaves it to the next worker. Either way the
// message is posted once.
func TestStopsDuringAPost(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sandbox.Fault{
		"that takes a while":        {Delay: 3 * time.Second},
		"whose answer takes longer": {AfterEffect: true, Delay: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sqlite(t))
			fault.Method, fault.Times = "chat.postMessage", 1
			s.workspace.Faults().Add(fault)
			s.workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
			s.await("Slack to be asked", 20*time.Second, func() bool {
				return slices.ContainsFunc(s.workspace.Calls(), func(c sandbox.Call) bool { return c.Method == "chat.postMessage" })
			})
			s.worker.stop()
			s.worker.start()
			s.await("the answer to be settled", 60*time.Second, func() bool {
				return len(s.posts()) == 1 && s.phase("thread/T0E2E/"+s.general+"/"+s.posts()[0].ThreadTS) == conversation.Idle
			})
			s.never("a second post", 3*time.Second, func() bool { return len(s.posts()) != 1 })
		})
	}
}
