package e2e

import (
	"net/http"
	"strings"
	"testing"

	"myao/test/llmtest"
)

func TestSocketMode(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), socketMode, modelAnswers(judgeAndAnswer("by socket", llmtest.Yes("asked", 1, 0))))
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
