package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/conversation"
	"myao/internal/operate/operator"
	"myao/internal/operate/timeline"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// After conversations were terminated, starter rehear has them hear what nothing was decided about, and
// nothing else: each question is answered once.
func TestRehear(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database func(*testing.T) string) {
		written := make(chan struct{})
		s := start(t, database(t), quiet(1), maxWait(1200), configured("channels: {slow: {min_wait_seconds: 900}}"), modelAnswers(func(c llmtest.Call) llmtest.Reply {
			switch {
			case c.Judgment():
				return llmtest.No("nobody asked")
			case strings.Contains(c.System, "lost"):
				<-written
			}
			return llmtest.Text("an answer")
		}))
		slow := s.Workspace.AddChannel(workspace.Public, "slow", s.Workspace.Bot().UserID, s.alice.ID, s.bob.ID)
		answered := s.Workspace.Say(slow, s.alice.ID, s.mention("an answered question?"))
		s.Workspace.Say(s.general, s.alice.ID, "just talk")
		s.await("an answer and a judgment", func() bool {
			return len(s.posts()) == 1 && s.countOutcomes(slow, "posted") == 1 && s.countOutcomes(s.general, "silent") == 1
		})
		waiting := s.Workspace.Say(slow, s.bob.ID, "who has the key?")
		asked := s.Workspace.Say(slow, s.alice.ID, s.mention("a lost question?"))
		top, thread := "channel/T0E2E/"+slow, "thread/T0E2E/"+slow+"/"+asked
		s.await("both to be heard", func() bool { return s.phase(top) == conversation.Waiting && len(s.replies()) == 2 })
		for _, id := range []string{top, thread, "thread/T0E2E/" + slow + "/" + answered, "channel/T0E2E/" + s.general} {
			testserver.Must(t, s.Client.TerminateWorkflow(t.Context(), id, "", "a test"))
		}
		close(written)

		var report struct{ Messages []timeline.Message }
		rehear := func(args ...string) (ts []string) {
			s.commandJSON(&report, append([]string{"rehear", "--since", "1h"}, args...)...)
			for _, m := range report.Messages {
				ts = append(ts, m.TS)
			}
			return ts
		}
		waits := func() bool { // a question at the top level, in a run that is open
			var all []operator.Listed
			s.commandJSON(&all, "conversations", "--channel", slow, "--phase", "waiting")
			return len(all) == 1
		}
		if got := rehear(slow, asked, "--dry-run"); !slices.Equal(got, []string{asked}) {
			t.Errorf("of the thread it would tell %q, want %q", got, asked)
		}
		if got := rehear(s.general); len(got) > 0 {
			t.Errorf("it tells %q of what was decided", got)
		}
		want := []string{waiting, asked}
		if got := rehear(slow, "--dry-run"); !slices.Equal(got, want) {
			t.Errorf("it would tell %q, want %q", got, want)
		}
		s.never("anything after a dry run", 3*time.Second, func() bool { return len(s.posts()) > 1 || waits() })
		if got := rehear(slow, "--by", "carol"); !slices.Equal(got, want) {
			t.Errorf("it tells %q, want %q", got, want)
		}
		s.await("the answer", func() bool { return len(s.posts()) == 2 && waits() })
		if p := s.posts()[1]; p.ThreadTS != asked {
			t.Errorf("answered in thread %q, want %q", p.ThreadTS, asked)
		}
		if _, _, status := s.Command("answer-now", slow); status != 0 {
			t.Error("nothing waits at the top level")
		}
		s.await("the other answer", func() bool { return len(s.posts()) == 3 && s.countOutcomes(slow, "posted") == 3 })
		if got := rehear(slow); len(got) > 0 {
			t.Errorf("it tells %q of what was answered", got)
		}
		s.never("another answer", 3*time.Second, func() bool { return len(s.posts()) > 3 })
		if s.countOutcomes(slow, "pending") != 0 {
			t.Error("the decision of the run that was lost is still pending")
		}
		story, _, _ := s.Command("why", slow)
		s.mustContain(story, "carol ordered: rehear 2")
	})
}
