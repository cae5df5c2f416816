package e2e

import (
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// One channel has a budget of two calls, another has its own persona and model.
func TestPolicyOfAChannel(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), configured(`channels:
  general: {daily_calls: 2}
  pirates: {persona: Speak like a pirate., model: parrot}
`), modelAnswers(judgeAndAnswer("Seven.", llmtest.Yes("nobody answered", 1, 0))))
	pirates := s.Workspace.AddChannel(workspace.Public, "pirates", s.Workspace.Bot().UserID, s.alice.ID)
	decided := func(conversation string) store.Decision {
		rows := s.decisions(conversation)
		if len(rows) != 1 {
			return store.Decision{}
		}
		return rows[0]
	}

	for _, text := range []string{"how many dwarfs?", "how many hills?"} {
		posted := len(s.postsIn(s.general))
		s.Workspace.Say(s.general, s.alice.ID, s.mention(text))
		s.await("an answer", func() bool { return len(s.postsIn(s.general)) == posted+1 })
	}
	asked := s.Workspace.Say(s.general, s.alice.ID, s.mention("how many seas?"))
	s.await("the note", func() bool { return len(s.postsIn(s.general)) == 3 })
	if p := s.postsIn(s.general)[2]; p.ThreadTS != asked || !strings.Contains(p.Text, "today") || strings.Contains(p.Text, "Seven") {
		t.Errorf("posted %q in thread %q, want the note in thread %q", p.Text, p.ThreadTS, asked)
	}
	top := "channel/T0E2E/" + s.general
	s.Workspace.Say(s.general, s.alice.ID, "does anybody know?")
	s.await("the judgment by rule", func() bool { return decided(top).Outcome == "silent" })
	if d := decided(top); d.Source != "rule" || d.Rule != "over_budget" {
		t.Errorf("ledger: %+v, want the rule over_budget", d)
	}
	thread := "thread/T0E2E/" + s.general + "/" + asked
	s.await("the note in the ledger", func() bool { return decided(thread).Outcome == "posted" })
	if d := decided(thread); d.Source != "addressed" || d.Rule != "over_budget" {
		t.Errorf("ledger: %+v, want an addressed one over budget", d)
	}

	// The other channel has its own budget, persona and model.
	s.Workspace.Say(pirates, s.alice.ID, "where is the treasure?")
	s.await("the pirate", func() bool { return len(s.postsIn(pirates)) == 1 })
	judged, replied := s.judgments(), s.calls("parrot")
	if len(judged) != 1 || len(replied) != 1 || len(s.replies()) != 2 {
		t.Fatalf("%d judgments, %d replies of the parrot, %d of the usual model; want 1, 1 and 2", len(judged), len(replied), len(s.replies()))
	}
	for _, call := range []llmtest.Call{judged[0], replied[0]} {
		if !strings.Contains(call.System, "You are myao.\n\nSpeak like a pirate.") {
			t.Errorf("the prompt of %s lacks the channel's persona", call.Model)
		}
	}
	for _, call := range s.replies() {
		if strings.Contains(call.System, "pirate.") {
			t.Error("the persona of one channel is in another's prompt")
		}
	}
	s.never("a second note", 2*time.Second, func() bool { return len(s.postsIn(s.general)) != 3 })
}

// What was spent in direct messages uses up the budget of the workspace, for all channels.
func TestBudgetOfTheWorkspace(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), configured("response: {workspace_daily_calls: 1}"))
	testserver.Must(t, s.store.SaveCall(t.Context(), store.Call{Scope: chat.Scope{Team: "T0E2E", Channel: "D1"}, Purpose: "response"}))
	asked := s.Workspace.Say(s.general, s.alice.ID, s.mention("how many dwarfs?"))
	s.await("the note", func() bool { return len(s.postsIn(s.general)) == 1 })
	if p := s.postsIn(s.general)[0]; p.ThreadTS != asked || !strings.Contains(p.Text, "today") || len(s.Model.Calls()) > 0 {
		t.Errorf("posted %q in thread %q after %d calls, want the note", p.Text, p.ThreadTS, len(s.Model.Calls()))
	}
	s.mustContain(s.told("why", s.general, asked), "the workspace's budget of today is used up")
	s.mustContain(s.told("channels"), "The whole workspace: today 1 of 1 model calls")
}

// The fallback of the configuration answers whoever addresses the bot while the key of the model is wrong.
func TestFallbackAnswers(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), configured("agents: {response: {fallback: {provider: openai, model: spare}}}"), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		if c.Provider == "gemini" {
			return llmtest.Fail(401)
		}
		return llmtest.Text("Seven.")
	}))
	asked := s.Workspace.Say(s.general, s.alice.ID, s.mention("how many dwarfs?"))
	s.await("the answer", func() bool { return len(s.postsIn(s.general)) == 1 })
	if p := s.postsIn(s.general)[0]; p.ThreadTS != asked || p.Text != "Seven." || len(s.calls("spare")) != 1 {
		t.Errorf("posted %q in thread %q after %d calls of the fallback", p.Text, p.ThreadTS, len(s.calls("spare")))
	}
	s.mustContain(s.told("why", s.general, asked), "spare")
}
