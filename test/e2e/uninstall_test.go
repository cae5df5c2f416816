package e2e

import (
	"strings"
	"testing"
	"time"

	"myao/sandbox/workspace"
	"myao/test/llmtest"
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
	s.Workspace.Say(s.general, s.alice.ID, s.mention("a question?"))
	s.await("a reply being written", func() bool { return len(s.replies()) == 1 })
	s.Workspace.Uninstall()
	for _, p := range s.Programs() {
		s.await("readyz to say why", func() bool {
			_, body := p.Get("/readyz")
			return strings.Contains(body, "the app was uninstalled from the workspace at ")
		})
		if !p.Log.Has("nothing is sent to Slack any more") {
			t.Errorf("the %s does not log it", p.Name)
		}
		s.mustContain(scrape(t, p.Address), "myao_slack_revoked 1")
	}
	before := len(s.otherCalls())
	close(answer)
	s.never("a call of Slack", 5*time.Second, func() bool { return len(s.otherCalls()) > before })
	s.worker.Kill()
	s.worker.Start()
	s.Workspace.Install()
	s.Ready()
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	s.never("another answer", 3*time.Second, func() bool { return len(s.posts()) > 1 })
}

// otherCalls returns the calls of Slack's API except those that ask whether the token is valid.
func (s *system) otherCalls() (calls []workspace.Call) {
	for _, c := range s.Workspace.Calls() {
		if c.Method != "auth.test" {
			calls = append(calls, c)
		}
	}
	return calls
}

// When the bot is removed from a channel, what waits there is dropped, and the ledger says why. Nothing
// is posted there.
func TestRemovedFromAChannel(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), maxDelay(600), modelAnswers(judgeAndAnswer("here", llmtest.Yes("nobody answered", 0.8, 600))))
	stays := s.room()
	for _, channel := range []string{s.general, stays} {
		s.Workspace.Say(channel, s.alice.ID, "who has the key?")
		s.await("a reply held back", func() bool { return s.countOutcomes(channel, "pending") == 1 })
	}
	s.Workspace.Leave(s.general, s.Workspace.Bot().UserID)
	s.await("the reply to be dropped", func() bool { return s.countOutcomes(s.general, "dropped") == 1 })
	story, _, _ := s.Command("why", s.general)
	s.mustContain(story, "dropped by leaving the channel")
	for _, c := range s.Workspace.Calls("chat.postMessage") {
		t.Errorf("posted %v", c.Args)
	}
	if s.countOutcomes(stays, "pending") != 1 {
		t.Error("it was dropped in another channel, too")
	}
}
