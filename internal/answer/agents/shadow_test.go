package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/internal/store"
	"myao/test/llmtest"
	"myao/test/storetest"
)

// A snapshot gives another judge the very question that the first one had, by its own templates if it has
// any. Its calls count for no decision.
func TestAShadowJudgeIsAskedTheSame(t *testing.T) {
	t.Parallel()
	url := storetest.SQLite(t)
	b := setup(t, url)
	b.config.Tools.Enabled = chat.ToolNames()
	b.config.Channels = map[string]config.Channel{"C1": {Persona: "Be formal <here>."}}
	b.addChannels(public("C1", "general"), public("C2", "random"))
	b.say("C2", time.Hour, "the harbour is closed")
	asked := b.say("C1", time.Hour, "how many <dwarfs>?\n## Not a heading")
	b.reply(asked, 50*time.Minute, "seven, <@UALICE>")
	pending := b.say("C1", 10*time.Minute, "and how many giants?")
	for _, s := range []chat.Scope{channel("C1"), channel("C2"), thread(asked), workspace} {
		b.remember(s, 0)
	}
	confidence := 0.4
	if err := b.Store.Decide(t.Context(), store.Decision{Key: "r/1", WorkflowID: "channel/T1/C1", Source: "judgment", Reason: "bob knows", Confidence: &confidence, Outcome: "silent"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Store.AddNote(t.Context(), "T1", "C1", "s", chat.Note{TS: asked.TS, Author: "UBOB", Text: "dwarfs are seven"}); err != nil {
		t.Fatal(err)
	}
	at := time.Now().UTC()
	clock := b.Clock
	b.Clock = func() time.Time { return at }
	j, err := b.Judgment(b.Context(), chat.Conversation{Team: "T1", Channel: "C1"}, []string{pending.TS}, 600)
	if err != nil {
		t.Fatal(err)
	}
	want, err := j.Question("it was no JSON")
	if err != nil {
		t.Fatal(err)
	}
	b.Clock = clock
	s, ok := j.Snapshot(at)
	data, err := s.Encode()
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if s, err = DecodeSnapshot(data); err != nil || len(s.Messages()) != 3 {
		t.Fatalf("%d messages, %v", len(s.Messages()), err)
	}
	got, err := judge{b.ByUse.Judgment, b.Prompts, llm.PurposeShadow}.question(s, nil, "it was no JSON")
	if err != nil || got.System != want.System || got.Prompt != want.Prompt || got.scope != want.scope {
		t.Errorf("%v, got\n%s\n%s\nwant\n%s\n%s", err, got.System, got.Prompt, want.System, want.Prompt)
	}
	b.WantWords("the question", want.System, "giants", "seven, @name of UALICE", "Be formal", "bob knows", "random", "note ")

	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "judgment.tmpl"), []byte("In brief: {{range .Target.Messages}}{{.Text}} {{end}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := prompt.New(prompt.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	b.Model.Reset()
	b.Model.Handle(llmtest.Script(llmtest.Yes("nobody knows", 0.7, 9999)))
	other := b.ByUse.Judgment
	other.Agent.Model, other.SystemPrompt = "rival", "own words"
	v, _, err := b.Opinion(b.Context(), ShadowJudge{Name: "rival", Agent: other, Prompts: own}, s)
	if err != nil || !v.ShouldRespond || v.Reason != "nobody knows" || *v.DelaySeconds != 600 {
		t.Errorf("it says %+v, %v", v, err)
	}
	calls, saved := b.Model.Calls(), b.savedCalls(t, url)
	if c := calls[len(calls)-1]; c.Model != "rival" || !c.Judgment() || !strings.HasPrefix(c.System, "In brief: how many") {
		t.Errorf("it was asked %+v", c)
	}
	if c := saved[len(saved)-1]; c.Purpose != llm.PurposeShadow || c.Decision != "" || c.Model != "rival" || c.Scope != channel("C1") {
		t.Errorf("saved: %+v", c)
	}
}
