package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
)

// After the app was uninstalled both programs say so and send nothing to Slack. What waited is answered
// once the app is installed again.
func TestUninstalled(t *testing.T) {
	t.Parallel()
	answer := make(chan struct{})
	s := start(t, sqlite(t), modelAnswers(func(llmtest.Call) llmtest.Reply {
		<-answer
		return llmtest.Text("at last")
	}))
	s.workspace.Say(s.general, s.alice.ID, s.mention("a question?"))
	s.await("a reply being written", 30*time.Second, func() bool { return len(s.replies()) == 1 })
	s.workspace.Uninstall()
	worker := s.worker.address()
	for _, address := range []string{s.door, worker} {
		s.await("readyz to say why", 30*time.Second, func() bool {
			return strings.Contains(readyz(t, address), "the app was uninstalled from the workspace at ")
		})
	}
	for _, p := range []*program{s.starter, s.worker} {
		if !strings.Contains(p.log.String(), "nothing is sent to Slack any more") {
			t.Errorf("the %s does not log it", p.name)
		}
		s.mustContain(scrape(t, map[string]string{"starter": s.door, "worker": worker}[p.name]), "myao_slack_revoked 1")
	}
	before := len(s.otherCalls())
	close(answer)
	s.never("a call of Slack", 5*time.Second, func() bool { return len(s.otherCalls()) > before })
	s.worker.kill()
	s.worker.start()
	s.workspace.Install()
	s.await("the answer", 120*time.Second, func() bool { return len(s.posts()) == 1 && readyz(t, s.door) == "ready\n" })
	s.never("another answer", 3*time.Second, func() bool { return len(s.posts()) > 1 })
}

// otherCalls returns the calls of Slack's API except those that ask whether the token is valid.
func (s *system) otherCalls() (calls []sandbox.Call) {
	for _, c := range s.workspace.Calls() {
		if c.Method != "auth.test" {
			calls = append(calls, c)
		}
	}
	return calls
}

// readyz returns what a program answers.
func readyz(t *testing.T, address string) string {
	t.Helper()
	resp, err := http.Get("http://" + address + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// When the bot is removed from a channel, what waits there is dropped, and the ledger says why. Nothing
// is posted there.
func TestRemovedFromAChannel(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), maxDelay(600), modelAnswers(judgeAndAnswer("here", llmtest.Yes("nobody answered", 0.8, 600))))
	stays := s.room()
	for _, channel := range []string{s.general, stays} {
		s.workspace.Say(channel, s.alice.ID, "who has the key?")
		s.await("a reply held back", 30*time.Second, func() bool { return s.countOutcomes(channel, "pending") == 1 })
	}
	s.workspace.Leave(s.general, s.workspace.Bot().UserID)
	s.await("the reply to be dropped", 30*time.Second, func() bool { return s.countOutcomes(s.general, "dropped") == 1 })
	story, _, _ := s.command("why", s.general)
	s.mustContain(story, "dropped by leaving the channel")
	for _, c := range s.workspace.Calls("chat.postMessage") {
		t.Errorf("posted %v", c.Args)
	}
	if s.countOutcomes(stays, "pending") != 1 {
		t.Error("it was dropped in another channel, too")
	}
}
