package e2e

import (
	"strings"
	"testing"
	"time"

	"myao/internal/llm/llmtest"
)

func TestMentionIsAnsweredInItsThread(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, url string) {
		t.Parallel()
		s := start(t, url, answers(llmtest.Script(llmtest.Text("Hello **Alice**."))))
		ts := s.workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
		s.await("the answer", 10*time.Second, func() bool { return len(s.posts()) == 1 })
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
	})
}
