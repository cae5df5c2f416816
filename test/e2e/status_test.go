package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

// statuses are the statuses that were set in a thread, in order; one that was taken away is "".
func (s *system) statuses(thread string) (all []string) {
	for _, c := range s.Workspace.Calls(setStatus) {
		if c.Args.Get("thread_ts") == thread {
			all = append(all, c.Args.Get("status"))
		}
	}
	return all
}

const setStatus = "assistant.threads.setStatus"

func (s *system) awaitStatus(thread, want string) {
	s.t.Helper()
	s.await(fmt.Sprintf("the status %q", want), func() bool { return s.Workspace.Status(s.general, thread) == want })
}

// Whoever mentions the bot sees in the thread that it works, and on what, until it answers. A judged reply
// shows nothing beforehand.
func TestStatus(t *testing.T) {
	t.Parallel()
	first, second := make(chan struct{}), make(chan struct{})
	releaseFirst, releaseSecond := sync.OnceFunc(func() { close(first) }), sync.OnceFunc(func() { close(second) })
	defer releaseSecond() // before the model's server closes
	defer releaseFirst()
	s := start(t, sqlite(t), quiet(1), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		switch {
		case c.Judgment():
			return llmtest.Yes("nobody answered", 0.9, 0)
		case strings.Contains(c.User+c.System, "the ladder"):
			return llmtest.Text("In the attic.")
		case len(c.Turns) > 0:
			<-second
			return llmtest.Text("On Thursday.")
		}
		<-first
		return llmtest.Calls(llmtest.ToolCall("search_messages", `{"query":"billing"}`))
	}))
	asked := s.Workspace.Say(s.general, s.alice.ID, s.mention("when do we deploy?"))
	s.awaitStatus(asked, "is thinking…")
	releaseFirst()
	s.await("the search to be shown", func() bool { return slices.Contains(s.statuses(asked), "is searching messages…") })
	s.awaitStatus(asked, "is thinking…")
	releaseSecond()
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	s.awaitStatus(asked, "")
	if got := s.statuses(asked); !slices.Equal(got, []string{"is thinking…", "is searching messages…", "is thinking…"}) {
		t.Errorf("the statuses were %q; the post takes the last away", got)
	}

	root := s.Workspace.Say(s.general, s.bob.ID, "I am up here")
	s.Workspace.Say(s.general, s.alice.ID, "where is the ladder?", workspace.InThread(root))
	s.await("the judged answer", func() bool { return s.postsInThread(root) == 1 })
	if shown := s.statuses(root); len(shown) > 0 {
		t.Errorf("a judged reply has shown %q", shown)
	}
}

// A Slack that refuses every status costs no answer, and is asked once.
func TestStatusRefused(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), modelAnswers(func(llmtest.Call) llmtest.Reply { return llmtest.Text("Yes.") }))
	s.Workspace.Faults().Add(workspace.Fault{Method: setStatus, Error: "missing_scope"})
	var asked []string
	for i := range 5 {
		asked = append(asked, s.Workspace.Say(s.general, s.alice.ID, s.mention(fmt.Sprintf("is that so, %d?", i))))
	}
	s.await("five answers", func() bool { return len(s.posts()) == len(asked) })
	for _, p := range s.posts() {
		asked = slices.DeleteFunc(asked, func(ts string) bool { return ts == p.ThreadTS })
	}
	if len(asked) != 0 {
		t.Errorf("no answer to %v", asked)
	}
	calls := len(s.Workspace.Calls(setStatus))
	s.Workspace.Say(s.general, s.alice.ID, s.mention("and now?"))
	s.await("one more answer", func() bool { return len(s.posts()) == 6 })
	if n := len(s.Workspace.Calls(setStatus)); n != calls || n == 0 {
		t.Errorf("Slack was asked %d times, and then %d times more", calls, n-calls)
	}
}

// The status of an answer that nobody waits for any more goes away.
func TestStatusOfAWithdrawnAnswer(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	defer close(held) // before the model's server closes
	s := start(t, sqlite(t), modelAnswers(func(llmtest.Call) llmtest.Reply {
		<-held
		return llmtest.Text("Too late.")
	}))
	asked := s.Workspace.Say(s.general, s.alice.ID, "we deploy on Thursday")
	mention := s.Workspace.Say(s.general, s.alice.ID, s.mention("do we?"), workspace.InThread(asked))
	s.awaitStatus(asked, "is thinking…")
	s.Workspace.Delete(s.general, mention)
	s.awaitStatus(asked, "")
	if n := len(s.posts()); n != 0 {
		t.Errorf("%d posts", n)
	}
}
