package e2e

import (
	"strings"
	"testing"
	"time"

	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/testserver"
	"myao/test/world"
)

func TestMentionIsAnsweredInItsThread(t *testing.T) {
	t.Parallel()
	s := start(t, world.SQLite(t), modelAnswers(llmtest.Script(llmtest.Text("Hello **Alice**."))))
	ts := s.Workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	p := s.posts()[0]
	if p.ThreadTS != ts || !strings.Contains(p.Text, "Hello") {
		t.Errorf("posted %q in thread %q, want an answer in thread %q", p.Text, p.ThreadTS, ts)
	}
	if n := len(s.judgments()); n != 0 {
		t.Errorf("%d judgments of a mention, want none", n)
	}
	if call := s.replies()[0]; !strings.Contains(call.System, "alice") || !strings.Contains(call.System, "hello?") {
		t.Errorf("the model was not told who said what:\n%s", call.System)
	}
	s.never("a second answer", 4*time.Second, func() bool { return len(s.posts()) > 1 })
	if rows := s.decisions("thread/T0E2E/" + s.general + "/" + ts); len(rows) != 1 || rows[0].Outcome != "posted" || rows[0].Source != "addressed" {
		t.Errorf("ledger: %+v; want one addressed, posted", rows)
	}
}

func TestMentionWithdrawsWhatWaitsAtTheTopLevel(t *testing.T) {
	t.Parallel()
	s := start(t, world.SQLite(t), quiet(3), modelAnswers(judgeAndAnswer("yes", llmtest.No("no"))))
	s.awaitStored(s.general, s.Workspace.Say(s.general, s.alice.ID, "does anybody know?")) // keeps the order of both
	s.Workspace.Say(s.general, s.alice.ID, s.mention("you perhaps?"))
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	s.never("a judgment of what the mention withdrew", 6*time.Second, func() bool { return len(s.judgments()) > 0 })
}

func TestMentionsDuringAReplyAreAnsweredTogether(t *testing.T) {
	t.Parallel()
	s := start(t, world.SQLite(t), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Text: "answer", Delay: 3 * time.Second}
	}))
	ts := s.Workspace.Say(s.general, s.alice.ID, s.mention("first?"))
	s.await("the model to be asked", func() bool { return len(s.replies()) == 1 })
	s.Workspace.Say(s.general, s.alice.ID, s.mention("second?"), sandbox.InThread(ts))
	s.Workspace.Say(s.general, s.bob.ID, s.mention("third?"), sandbox.InThread(ts))
	s.await("one more answer", func() bool { return len(s.posts()) == 2 })
	for _, text := range []string{"second?", "third?"} {
		if !strings.Contains(s.replies()[1].System, text) {
			t.Errorf("the second answer was written without %q", text)
		}
	}
	s.never("a third answer", 6*time.Second, func() bool { return len(s.posts()) > 2 })
}

func TestRedeliveredEventsAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	s := start(t, testserver.Postgres(t), quiet(1), modelAnswers(judgeAndAnswer("once", llmtest.Yes("asked", 1, 0))))
	s.Workspace.Faults().AddEvent(sandbox.EventFault{RedeliverAfter: []time.Duration{0, 10 * time.Millisecond, 6 * time.Second}})
	s.Workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	s.Workspace.Say(s.general, s.bob.ID, "a question?")
	s.await("the judged answer", func() bool { return len(s.posts()) == 2 })
	s.never("a doubled answer", 9*time.Second, func() bool { return len(s.posts()) > 2 })
}

// A mention fires two events, message and app_mention. It is answered once, even if one is lost
// or late.
func TestMentionWithOneEventLostOrLate(t *testing.T) {
	t.Parallel()
	s := start(t, world.SQLite(t))
	for name, fault := range map[string]sandbox.EventFault{
		"only the mention":    {Match: sandbox.MentionMessage, Drop: true},
		"only the message":    {Match: sandbox.AppMention, Drop: true},
		"the message is late": {Match: sandbox.MentionMessage, Delay: 4 * time.Second},
		"the mention is late": {Match: sandbox.AppMention, Delay: 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.forSubtest(t)
			room, event := s.room(), fault.Match
			fault.Match = func(e sandbox.Event) bool { return e.Channel == room && event(e) }
			s.Workspace.Faults().AddEvent(fault)
			s.Workspace.Say(room, s.alice.ID, s.mention("hello?"))
			s.await("the answer", func() bool { return len(s.postsIn(room)) == 1 })
			s.never("a second answer", 6*time.Second, func() bool { return len(s.postsIn(room)) > 1 })
		})
	}
}

func TestOwnMessagesAreNoTrigger(t *testing.T) {
	t.Parallel()
	s := start(t, world.SQLite(t), quiet(1), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		if c.Judgment() {
			return llmtest.Yes("I like to talk", 1, 0)
		}
		return llmtest.Text("I, <@U0BOT>, have spoken <!channel>.")
	}))
	s.Workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	s.never("an answer to itself", 5*time.Second, func() bool { return len(s.Model.Calls()) > 1 })
	if strings.Contains(s.posts()[0].Text, "<!channel>") {
		t.Error("the model could call the whole channel")
	}
}
