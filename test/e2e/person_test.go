package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/world"
)

// Somebody asks in Slack to be forgotten, is told when it is done, and what Slack still has does not
// come back. Then an operator purges the channel.
func TestForgettingAPersonAndPurgingAChannel(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), longAckTimeout, quiet(300), maxWait(600), modelAnswers(judgeAndAnswer("The canary is ill.", llmtest.No("not for me"))))
	s.runWorkflow("ChannelSync", nil, nil)
	asked := s.Workspace.Say(s.general, s.bob.ID, s.mention("how is the canary?"))
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	reply := s.Workspace.Say(s.general, s.alice.ID, "I ask, too, <@"+s.bob.ID+">", workspace.InThread(asked))
	waiting := s.Workspace.Say(s.general, s.bob.ID, "and nobody told me of the canary")
	s.awaitStored(s.general, asked, reply, waiting)

	export := func() (x store.PersonExport) {
		t.Helper()
		stdout, stderr, status := s.Command("person", "export", s.bob.ID)
		if err := json.Unmarshal([]byte(stdout), &x); err != nil || status != 0 {
			t.Fatalf("status %d, %v: %s", status, err, stderr)
		}
		return x
	}
	if x := export(); len(x.Messages) != 2 || len(x.Replies) != 1 || !strings.Contains(x.Replies[0].Text, "canary") {
		t.Errorf("exported %+v", x)
	}
	s.commandFails("nothing was done: want yes", "person", "forget", s.bob.ID)
	s.mustContain(s.typeCommand(s.general, s.bob.ID, "forget me"), "for good", "forget me yes")
	s.mustContain(s.typeCommand(s.general, s.bob.ID, "forget me yes"), "I am forgetting you.")
	s.await("bob to be told", func() bool {
		posts := s.posts()
		return strings.Contains(posts[len(posts)-1].Text, "I have forgotten you") && posts[len(posts)-1].Channel != s.general
	})
	gone := func(when string) {
		t.Helper()
		if x := export(); len(x.Messages)+len(x.Reactions)+len(x.Orders)+len(x.Decisions)+len(x.Replies)+len(x.Memories) > 0 || x.Name != "" || x.Forgotten.IsZero() {
			t.Errorf("%s: exported %+v", when, x)
		}
		for _, ts := range []string{asked, waiting} {
			if m, err := s.store.Message(t.Context(), "T0E2E", s.general, ts); err != nil || m.Text != "" || m.UserID != "" {
				t.Errorf("%s: %+v, %v", when, m, err)
			}
		}
		if m, err := s.store.Message(t.Context(), "T0E2E", s.general, reply); err != nil || !strings.HasPrefix(m.Text, "I ask, too, ") || strings.Contains(m.Text, s.bob.ID) {
			t.Errorf("%s: %+v, %v", when, m, err)
		}
	}
	gone("when it was done")
	// Slack's copies of the thread are read for a mention in it.
	prompt := s.promptFor(s.general, "what was that?", workspace.InThread(asked))
	if strings.Contains(prompt, "how is the canary") || strings.Contains(prompt, "canary is ill") || !strings.Contains(prompt, "I ask, too") {
		t.Errorf("the prompt is\n%s", prompt)
	}
	gone("after the thread was read from Slack")
	s.await("that answer", func() bool { return len(s.posts()) == 3 })

	s.commandFails("nothing was done", "channel", "purge", s.general)
	var purged struct {
		Deleted map[string]int
		Member  bool
	}
	s.commandJSON(&purged, "channel", "purge", s.general, "--yes", "--timeout", world.Patience.String())
	if !purged.Member || purged.Deleted["messages"] < 5 || purged.Deleted["outbox"] != 2 {
		t.Errorf("purged %+v", purged)
	}
	if _, err := s.store.Message(t.Context(), "T0E2E", s.general, reply); err == nil {
		t.Error("a message is left")
	}
	// It goes on as in a new channel.
	if prompt := s.promptFor(s.general, "and now?"); strings.Contains(prompt, "I ask, too") {
		t.Errorf("the prompt is\n%s", prompt)
	}
	s.await("the last answer", func() bool { return len(s.posts()) == 4 })
}
