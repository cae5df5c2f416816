package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
	"myao/test/world"
	"myao/workflows"
)

// Two workspaces have the same ids of channels, people and messages. Whatever reads one, in prompts, by commands and in
// Slack, has nothing of what was said, noted, promised and remembered in the other. The store's TestWalls has the rest.
func TestWalls(t *testing.T) {
	t.Parallel()
	const secret, first, second = "swordfish", "T0E2E", "T0OTHER"
	s := build(t, postgres(t), installable, longAckTimeout, quiet(300), maxWait(600), configured(`
slack: {allowed_workspaces: ["*"]}
workspaces: {T0OTHER: {persona: {name: otto}, agents: {memory: {system_prompt: You are otto.}}}}`), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		said := c.System + c.User
		switch {
		case c.Judgment():
			return llmtest.No("they talk about the fish")
		case c.Model == world.MemoryModel && strings.Contains(said, secret):
			return llmtest.Text("They keep a " + secret + ".")
		case c.Model == world.MemoryModel:
			return llmtest.Text("They talk.")
		case len(c.Turns) == 0 && len(c.Tools) > 0:
			return llmtest.Calls(llmtest.ToolCall("search_messages", `{"query":"the password"}`),
				llmtest.ToolCall("read_channel", `{"channel":"random"}`))
		case strings.Contains(string(c.Body), secret):
			return llmtest.Text("It is " + secret + ".")
		}
		return llmtest.Text("I do not know.")
	}))
	s.Configure("slack: {operators: [" + s.alice.ID + "]}")
	s.Second.AddUser("olga")
	s.Second.AddUser("otto") // by whom its prompts are known
	s.Second.AddChannel(workspace.Public, "general", s.Workspace.Bot().UserID, s.alice.ID, s.bob.ID)
	random := ""
	for _, w := range []*workspace.Workspace{s.Workspace, s.Second} {
		random = w.AddChannel(workspace.Public, "random", s.Workspace.Bot().UserID, s.alice.ID, s.bob.ID)
	}
	s.Start()
	db, err := store.Open(t.Context(), s.Database)
	testserver.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	s.store = db
	for _, team := range []string{first, second} {
		if status, page := s.install(team); status != http.StatusOK {
			t.Fatalf("%d: %s", status, page)
		}
		s.runWorkflow("ChannelSync", workflows.Of{Team: team}, nil)
	}
	at := time.Now().Add(-time.Minute).Truncate(time.Second)
	var asked string
	for team, w := range map[string]*workspace.Workspace{second: s.Second, first: s.Workspace} {
		text := "nothing to see here"
		if team == second {
			text = "the password is " + secret
			testserver.Must(t, testserver.ErrOf(db.AddNote(t.Context(), team, s.general, "step",
				chat.Note{TS: chat.TS(at), Author: s.alice.ID, Text: "the " + secret + " is blue"})))
			testserver.Must(t, testserver.ErrOf(db.AddPromise(t.Context(), store.Promise{
				Choice: store.Choice{ID: "p1", TeamID: team, ChannelID: s.general, TriggerTS: chat.TS(at), Decision: "d1",
					Asker: s.alice.ID},
				What: "feed the " + secret, Zone: "UTC", DueUS: time.Now().Add(time.Hour).UnixMicro(),
			}, store.PromiseLimits{Conversation: 1})))
			testserver.Must(t, testserver.ErrOf(db.ShowPromises(t.Context(), "d1", chat.TS(at.Add(time.Second)))))
		}
		ts := w.Say(random, s.bob.ID, text, workspace.At(at.Add(time.Second)),
			workspace.WithFile(strings.ReplaceAll(text, " ", "-")+".txt", "text/plain", []byte(text)))
		s.await("the message of "+team, func() bool {
			found, err := db.Search(t.Context(), store.SearchQuery{Team: team, Here: random, Text: text, Limit: 1})
			return err == nil && len(found) == 1 && found[0].TS == ts
		})
		s.runWorkflow("Memory", workflows.MemoryInput{Of: workflows.Of{Team: team}}, nil)
	}
	for team, w := range map[string]*workspace.Workspace{second: s.Second, first: s.Workspace} {
		asked = w.Say(s.general, s.alice.ID, s.mention("what is the password?"), workspace.At(at.Add(2*time.Second)))
		s.await("the answer in "+team, func() bool { return len(w.Posts()) == 1 })
		if said := w.Posts()[0].Text; strings.Contains(said, secret) != (team == second) {
			t.Errorf("%s is told %q", team, said)
		}
	}
	others := 0
	for _, c := range s.Model.Calls() {
		switch {
		case strings.Contains(string(c.Body), "otto"):
			others++
		case strings.Contains(string(c.Body), secret):
			t.Errorf("a prompt of %s has what is in %s:\n%s", first, second, c.Body)
		}
	}
	if others == 0 {
		t.Errorf("no prompt of %s was seen", second)
	}

	for _, c := range []struct {
		tells   bool // of the secret, in the workspace that has it
		command []string
	}{
		{true, []string{"why", "general", asked, "--text"}},
		{true, []string{"why", "random", "--text"}},
		{true, []string{"memory", "show"}},
		{true, []string{"memory", "show", "random"}},
		{false, []string{"memory", "list", "random"}},
		{false, []string{"memory", "history", "random"}},
		{true, []string{"notes", "list", "general"}},
		{true, []string{"promises", "list"}},
		{true, []string{"promises", "list", "--channel", "general"}},
		{false, []string{"proposals", "list"}},
		{true, []string{"show", "general"}},
		{false, []string{"conversations"}},
		{false, []string{"channels"}},
		{false, []string{"label"}},
		{true, []string{"prompt", "--for", "response", "--channel", "general"}},
		{true, []string{"prompt", "--for", "judgment", "--channel", "random"}},
		{true, []string{"prompt", "--for", "memory", "--channel", "random"}},
		{true, []string{"person", "export", s.alice.ID}},
	} {
		for _, team := range []string{first, second} {
			stdout, stderr, status := s.Command(append(slices.Clone(c.command), "--team", team)...)
			if status != 0 || strings.Contains(stdout, secret) != (c.tells && team == second) {
				t.Errorf("starter %q of %s: %d %s %s", c.command, team, status, stdout, stderr)
			}
		}
	}
	for team, w := range map[string]*workspace.Workspace{first: s.Workspace, second: s.Second} {
		of := *s
		there := *s.World
		of.World, there.Workspace = &there, w
		for what, read := range map[string]string{
			"the Home tab":    of.openHome(s.alice.ID, anything),
			"/myao status":    of.typeCommand(s.general, s.alice.ID, "status"),
			"/myao why":       of.typeCommand(s.general, s.alice.ID, "why"),
			"/myao promises":  of.typeCommand(s.general, s.alice.ID, "promises"),
			"/myao notes":     of.typeCommand(s.general, s.alice.ID, "notes"),
			"/myao forget me": of.typeCommand(s.general, s.bob.ID, "forget me"),
		} {
			tells := map[string]bool{"the Home tab": true, "/myao promises": true, "/myao notes": true}[what] && team == second
			if strings.Contains(read, secret) != tells {
				t.Errorf("%s of %s: %s", what, team, read)
			}
		}
	}
}
