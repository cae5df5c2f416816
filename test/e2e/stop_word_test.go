package e2e

import (
	"strings"
	"testing"
	"time"

	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
)

// One word ends the answer that is being written, is answered in one line without the model, and keeps
// the bot out of the thread until it is mentioned again.
func TestStopInAThread(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, url string) {
		t.Parallel()
		s := start(t, url, quiet(1), modelAnswers(func(c llmtest.Call) llmtest.Reply {
			switch {
			case c.Judgment():
				return llmtest.Yes("nobody answered", 1, 0)
			case strings.Contains(c.System, "come back"):
				return llmtest.Text("I am here.")
			}
			return llmtest.Reply{Text: "A long answer.", Delay: time.Minute}
		}))
		ts := s.workspace.Say(s.general, s.alice.ID, s.mention("tell me everything"))
		thread := "thread/T0E2E/" + s.general + "/" + ts
		s.await("the model to be asked", 20*time.Second, func() bool { return len(s.replies()) == 1 })
		s.workspace.Say(s.general, s.alice.ID, "Stop, please!", sandbox.InThread(ts))
		s.await("one line", 20*time.Second, func() bool { return len(s.posts()) == 1 })
		if p := s.posts()[0]; p.Text != "Stopped." || p.ThreadTS != ts || len(s.replies()) != 1 {
			t.Errorf("posted %q in %q after %d calls of the model", p.Text, p.ThreadTS, len(s.replies()))
		}
		s.workspace.Say(s.general, s.alice.ID, "does anybody know more?", sandbox.InThread(ts))
		s.await("the rule", 20*time.Second, func() bool {
			rows := s.decisions(thread)
			return len(rows) == 3 && rows[2].Rule == "stopped"
		})
		if rows := s.decisions(thread); rows[0].Outcome != "dropped" || rows[0].OutcomeBy != "slack:"+s.alice.ID || rows[1].Outcome != "posted" || len(s.judgments()) != 0 {
			t.Errorf("ledger: %+v after %d judgments", rows, len(s.judgments()))
		}
		s.workspace.Say(s.general, s.bob.ID, s.mention("come back"), sandbox.InThread(ts))
		s.await("an answer", 20*time.Second, func() bool { return len(s.posts()) == 2 })
		s.workspace.Say(s.general, s.bob.ID, "and who else?", sandbox.InThread(ts))
		s.await("a judgment", 20*time.Second, func() bool { return len(s.judgments()) == 1 })
	})
}
