package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/test/world"
)

func TestSocketMode(t *testing.T) {
	t.Parallel()
	s := start(t, world.SQLite(t), quiet(1), socketMode, modelAnswers(judgeAndAnswer("by socket", llmtest.Yes("asked", 1, 0))))
	s.Workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	s.starter.Kill()
	s.Workspace.Say(s.general, s.alice.ID, "said while nobody listened?")
	s.starter.Start()
	s.await("the judged answer", func() bool { return len(s.posts()) == 2 })
	resp, err := http.Post("http://"+s.starter.Address+"/slack/events", "application/json", strings.NewReader("{}"))
	if err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("the HTTP door in Socket Mode: %v, %v; want 404", resp, err)
	}
}

func TestOpenAI(t *testing.T) {
	t.Parallel()
	s := start(t, world.SQLite(t), quiet(1), configured("agents: {response: {provider: openai}, judgment: {provider: openai}, memory: {provider: openai}}"), modelAnswers(judgeAndAnswer("by OpenAI", llmtest.Yes("asked", 1, 0))))
	s.Workspace.Say(s.general, s.alice.ID, "a question?")
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	for _, c := range s.Model.Calls() {
		if c.Provider != "openai" {
			t.Errorf("a call by way of %s", c.Provider)
		}
	}
}

// TestMentionInAnUnknownThread mentions the bot in a thread whose messages it never received. It
// reads the newest replies from Slack.
func TestMentionInAnUnknownThread(t *testing.T) {
	t.Parallel()
	s := start(t, world.SQLite(t))
	root := s.Workspace.Say(s.general, s.alice.ID, "the-root", sandbox.WithoutEvent())
	for i := range 30 {
		s.Workspace.Say(s.general, s.bob.ID, fmt.Sprintf("reply-%02d", i), sandbox.InThread(root), sandbox.WithoutEvent())
	}
	s.Workspace.Say(s.general, s.alice.ID, s.mention("what do you think?"), sandbox.InThread(root))
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	prompt := s.replies()[0].System
	for _, text := range []string{"the-root", "reply-11", "reply-29", "what do you think?"} {
		if !strings.Contains(prompt, text) {
			t.Errorf("the model was not told %q", text)
		}
	}
	if strings.Contains(prompt, "reply-10") {
		t.Error("the model was told more than thread_history_limit, 20, replies")
	}
	s.never("an answer to messages that were only read", 4*time.Second, func() bool { return len(s.Model.Calls()) > 1 })
}
