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
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
	"myao/test/world"
)

// The message is in Slack, but the bot gets an error. It must not post again.
func TestSlackFailsAfterTheEffect(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), modelAnswers(judgeAndAnswer("once", llmtest.Yes("asked", 1, 0))))
	for name, fault := range map[string]workspace.Fault{
		"503":                 {AfterEffect: true, Status: 503},
		"connection lost":     {AfterEffect: true, LoseAnswer: true},
		"internal_error":      {AfterEffect: true, Error: "internal_error"},
		"answer is no JSON":   {AfterEffect: true, Garble: true},
		"hidden for a second": {AfterEffect: true, Status: 503, Hide: time.Second},
		"slow past timeout":   {AfterEffect: true, Delay: 12 * time.Second},
		"hidden past timeout": {AfterEffect: true, Delay: 12 * time.Second, Hide: 15 * time.Second},
	} {
		for where, text := range map[string]string{"thread": s.mention("a question?"), "top level": "a question?"} {
			t.Run(name+", "+where, func(t *testing.T) { s.forSubtest(t).postsOnceDespite(1, fault, text) })
		}
	}
}

// Slack refuses the message. The bot posts it again, once.
func TestSlackFailsWithoutEffect(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t))
	for name, fault := range map[string]workspace.Fault{
		"429 with Retry-After": {Status: 429, RetryAfter: "2"},
		"429 without":          {Status: 429},
		"ratelimited":          {Error: "ratelimited"},
		"503":                  {Status: 503},
		"connection lost":      {LoseAnswer: true},
		"fatal_error":          {Error: "fatal_error"},
	} {
		t.Run(name, func(t *testing.T) { s.forSubtest(t).postsOnceDespite(2, fault, s.mention("hello?")) })
	}
}

// postsOnceDespite has a fault meet posts in a new channel, and says the text there.
func (s *system) postsOnceDespite(times int, fault workspace.Fault, text string) {
	s.t.Parallel()
	room := s.room()
	s.faultPostsIn(room, times, fault)
	s.Workspace.Say(room, s.alice.ID, text)
	s.await("the post", func() bool { return len(s.postsIn(room)) == 1 })
	s.await("the ledger to know", func() bool { return s.countOutcomes(room, "posted") == 1 })
	s.never("a second post", 3*time.Second, func() bool { return len(s.postsIn(room)) > 1 })
}

// faultPostsIn has so many of the posts in a channel meet a fault; 0 until off is called.
func (s *system) faultPostsIn(channel string, times int, fault workspace.Fault) (off func()) {
	fault.Method, fault.Times = "chat.postMessage", times
	fault.Match = func(c workspace.Call) bool { return c.Args.Get("channel") == channel }
	return s.Workspace.Faults().Add(fault)
}

func TestModelFailsForGood(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		if strings.Contains(c.System, "say nothing") {
			return llmtest.Reply{}
		}
		return llmtest.Reply{Status: 400, Message: "no"}
	}))
	ts := s.Workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("the note", func() bool { return len(s.posts()) == 1 })
	if p := s.posts()[0]; p.ThreadTS != ts || p.Text == "" {
		t.Errorf("posted %q in thread %q", p.Text, p.ThreadTS)
	}
	s.Workspace.Say(s.general, s.bob.ID, "a question?")
	s.await("the judgment", func() bool { return len(s.judgments()) == 1 })
	s.await("the ledger to have one failed judgment", func() bool {
		rows := s.decisions("channel/T0E2E/" + s.general)
		return len(rows) == 1 && rows[0].Outcome == "failed"
	})
	s.never("more than silence", 5*time.Second, func() bool { return len(s.posts()) > 1 })

	before := len(s.replies())
	s.Workspace.Say(s.general, s.alice.ID, s.mention("say nothing"))
	s.await("another note", func() bool { return len(s.posts()) == 2 })
	if n := len(s.replies()) - before; n != 3 {
		t.Errorf("asked %d times for an answer that stayed empty, want 3", n)
	}
}

// countOutcomes counts the decisions of all conversations in a channel with an outcome.
func (s *system) countOutcomes(channel string, want conversation.Outcome) int {
	ids := []string{"channel/T0E2E/" + channel}
	for _, m := range s.Workspace.Messages(channel) {
		ids = append(ids, "thread/T0E2E/"+channel+"/"+m.TS)
	}
	n := 0
	for _, id := range ids {
		for _, r := range s.decisions(id) {
			if r.Outcome == want {
				n++
			}
		}
	}
	return n
}

// TestKilledWorker kills the worker while replies are pending. TestKilledBetweenAnyTwoSteps kills
// it within judging, composing and posting.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(3), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		if c.Judgment() {
			return llmtest.Yes("asked", 1, 8)
		}
		return llmtest.Reply{Text: "once", Delay: 3 * time.Second}
	}))
	delaying, composing, waiting := s.room(), s.room(), s.room()
	s.Workspace.Say(delaying, s.alice.ID, "a question?")
	s.await("a reply held back", func() bool { return s.countOutcomes(delaying, "pending") == 1 })
	s.Workspace.Say(composing, s.alice.ID, s.mention("a question?"))
	s.awaitStored(waiting, s.Workspace.Say(waiting, s.alice.ID, "a question?"))
	s.await("a reply being written", func() bool { return len(s.replies()) > 0 })
	s.worker.Kill()
	s.worker.Start()
	rooms := []string{delaying, composing, waiting}
	for _, room := range rooms {
		s.await("the answer", func() bool { return s.countOutcomes(room, "posted") == 1 })
	}
	s.never("a doubled answer", 3*time.Second, func() bool { return len(s.posts()) != len(rooms) })
}

// Without Temporal events are still acknowledged, and answered once Temporal is back, even if it has
// lost its data, with the search attributes.
func TestTemporalOutage(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "temporal.db")
	server := testserver.StartTemporal(t, db, 0)
	s := start(t, sqlite(t), quiet(2), modelAnswers(judgeAndAnswer("back", llmtest.No("no"))), func(o *settings) { o.Temporal = server.Address })
	server.Kill()
	for i := range 5 {
		s.Workspace.Say(s.general, s.alice.ID, s.mention(fmt.Sprintf("question %d?", i)))
	}
	s.await("Slack to be acknowledged", func() bool {
		acked := 0
		for _, d := range s.Workspace.Deliveries() {
			if d.Status == http.StatusOK && d.Type == "message" {
				acked++
			}
		}
		return acked == 5
	})
	resp, err := http.Get("http://" + s.starter.Address + "/readyz")
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("readyz without Temporal: %v %v, want 503", resp, err)
	}
	server.Restart()
	s.await("all answers", func() bool { return len(s.posts()) == 5 })
	s.never("a doubled answer", 3*time.Second, func() bool { return len(s.posts()) > 5 })

	server.Kill()
	files, err := filepath.Glob(db + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of Temporal's: %v, %v", files, err)
	}
	for _, f := range files {
		testserver.Must(t, os.Remove(f))
	}
	s.Workspace.Say(s.general, s.alice.ID, s.mention("meanwhile?"))
	server.Restart()
	world.Register(t, s.Client, s.Namespace)
	s.Workspace.Say(s.general, s.alice.ID, s.mention("after?"))
	s.await("the other answers", func() bool { return len(s.posts()) == 7 })
}

func TestEventsOutOfOrder(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(2), func(s *settings) { s.Slack.Deliverers = 1 }, // in this order
		modelAnswers(judgeAndAnswer("no", llmtest.Yes("x", 1, 0))))
	// The deletion overtakes the message.
	s.Workspace.Faults().AddEvent(workspace.EventFault{Times: 1, Hold: 1})
	ts := s.Workspace.Say(s.general, s.alice.ID, "deleted-at-once?")
	s.Workspace.Delete(s.general, ts)
	s.never("a judgment of what was deleted", 6*time.Second, func() bool { return len(s.judgments()) > 0 })
	// The edit overtakes the message.
	s.Workspace.Faults().AddEvent(workspace.EventFault{Times: 1, Hold: 1})
	ts = s.Workspace.Say(s.general, s.alice.ID, "first-wording?")
	s.Workspace.Edit(s.general, ts, "second-wording?")
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	if got := s.judgments()[0].System; !strings.Contains(got, "second-wording?") || strings.Contains(got, "first-wording?") {
		t.Errorf("the judgment did not see the edit:\n%s", got)
	}
}

// A worker that stops during a post finishes it or leaves it to the next worker. Either way the
// message is posted once. It leaves a reply that is being written, too.
func TestStoppedDuringWork(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		if strings.Contains(c.System, "take your time") {
			return llmtest.Reply{Text: "hello", Delay: 2 * time.Second}
		}
		return llmtest.Text("hello")
	}))
	posting, posted, writing := s.room(), s.room(), s.room()
	s.faultPostsIn(posting, 1, workspace.Fault{Delay: 4 * time.Second})
	s.faultPostsIn(posted, 1, workspace.Fault{Delay: 4 * time.Second, AfterEffect: true})
	s.Workspace.Say(posting, s.alice.ID, s.mention("hello?"))
	s.Workspace.Say(posted, s.alice.ID, s.mention("hello?"))
	asked := func(room string) bool {
		return slices.ContainsFunc(s.Workspace.Calls(), func(c workspace.Call) bool { return c.Method == "chat.postMessage" && c.Args.Get("channel") == room })
	}
	s.await("Slack to be asked for both", func() bool { return asked(posting) && asked(posted) })
	s.Workspace.Say(writing, s.alice.ID, s.mention("hello? take your time"))
	s.await("the model to be asked", func() bool { return len(s.replies()) == 3 })
	s.worker.Stop()
	s.starter.Stop()
	s.worker.Start()
	rooms := []string{posting, posted, writing}
	for _, room := range rooms {
		s.await("the answer to be settled", func() bool {
			posts := s.postsIn(room)
			return len(posts) == 1 && s.phase("thread/T0E2E/"+room+"/"+posts[0].ThreadTS) == conversation.Idle
		})
	}
	s.never("a second post", 3*time.Second, func() bool { return len(s.posts()) != len(rooms) })
	s.worker.Stop()
}
