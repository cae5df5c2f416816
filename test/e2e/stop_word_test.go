package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// One word ends the answer that is being written, is answered in one line without the model, and keeps
// the bot out of the thread until it is mentioned again.
func TestStopInAThread(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		switch {
		case c.Judgment():
			return llmtest.Yes("nobody answered", 1, 0)
		case strings.Contains(c.System, "back to work"):
			return llmtest.Text("I am here.")
		}
		return llmtest.Reply{Text: "A long answer.", Delay: time.Minute}
	}))
	ts := s.Workspace.Say(s.general, s.alice.ID, s.mention("tell me everything"))
	thread := "thread/T0E2E/" + s.general + "/" + ts
	s.await("the model to be asked", func() bool { return len(s.replies()) == 1 })
	s.Workspace.Say(s.general, s.alice.ID, "Stop, please!", workspace.InThread(ts))
	s.await("one line", func() bool { return len(s.posts()) == 1 })
	if p := s.posts()[0]; p.Text != "Stopped." || p.ThreadTS != ts || len(s.replies()) != 1 {
		t.Errorf("posted %q in %q after %d calls of the model", p.Text, p.ThreadTS, len(s.replies()))
	}
	s.Workspace.Say(s.general, s.alice.ID, "does anybody know more?", workspace.InThread(ts))
	s.await("the rule", func() bool {
		return countRule(s.decisions(thread), "stopped") == 1 && len(s.outcomes(thread)) == 3
	})
	// The drop is written down beside the line, so either may come first.
	if all := s.outcomes(thread); len(all) != 3 || !slices.Contains(all, "dropped slack:"+s.alice.ID) || len(s.judgments()) != 0 {
		t.Errorf("ledger: %q after %d judgments", all, len(s.judgments()))
	}
	s.Workspace.Say(s.general, s.bob.ID, s.mention("back to work"), workspace.InThread(ts))
	s.await("an answer", func() bool { return len(s.posts()) == 2 })
	s.Workspace.Say(s.general, s.bob.ID, "and who else?", workspace.InThread(ts))
	s.await("a judgment", func() bool { return len(s.judgments()) == 1 })
}

// An answer to a mention at the top level comes in a thread that nobody sees yet: the word at the top
// level ends it, too, with the mention or without. That of somebody else does not.
func TestStopAtTheTopLevel(t *testing.T) {
	t.Parallel()
	s := start(t, testserver.Postgres(t), quiet(300), maxWait(600), modelAnswers(func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Text: "A long answer.", Delay: time.Minute}
	}))
	for i, stop := range []string{"stop", s.mention("stop")} {
		ts := s.Workspace.Say(s.general, s.alice.ID, s.mention("tell me everything"))
		s.await("the model to be asked", func() bool { return len(s.replies()) == i+1 })
		s.awaitStored(s.general, s.Workspace.Say(s.general, s.bob.ID, "stop"))
		said := s.Workspace.Say(s.general, s.alice.ID, stop)
		s.await("the answer to be dropped", func() bool {
			return slices.Equal(s.outcomes("thread/T0E2E/"+s.general+"/"+ts), []string{"dropped slack:" + s.alice.ID})
		})
		s.await("one line", func() bool { return len(s.posts()) == i+1 })
		if p := s.posts()[i]; p.Text != "Stopped." || p.ThreadTS != said {
			t.Errorf("posted %q in %q", p.Text, p.ThreadTS)
		}
	}
	if n := len(s.replies()); n != 2 {
		t.Errorf("%d calls of the model", n)
	}
}
