package activities

import (
	"fmt"
	"strings"
	"testing"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/store"
	"myao/test/llmtest"
)

// What a model writes comes in without what nobody sees: notes, promises, proposals and all else that is made of
// it, however its JSON escapes that.
func TestNothingInvisibleComesIn(t *testing.T) {
	t.Parallel()
	const hidden = "on\u202e Friday\U000E0041\U000E007F\u200b"
	escaped := `on\u202e Friday\udb40\udc41\udb40\udc7f\u200b`
	call := func(name, format string) llmtest.Reply {
		return llmtest.Calls(llmtest.ToolCall(name, fmt.Sprintf(format, hidden)), llmtest.ToolCall(name, fmt.Sprintf(format, escaped)))
	}
	b := setup(t, withModel(llmtest.Script(call("remember", `{"text":"%s"}`), call("look_again", `{"when":"in 1h","what":"%s"}`), call("echo__make", `{"text":"%s"}`), llmtest.Text("Done "+hidden+".\u2066"))))
	b.Limits = config.Default().Tools
	b.settings.Tools = b.Limits.Enabled
	b.Agents.Promises = store.PromiseLimits{Conversation: 20}
	b.Tools = b.Agents.Tools(b.Client, b.Directory, nil, nil, &echoServer{says: func([]string) string { return "" }}, nil)
	in := ComposeInput{Task: inThread(b.say(b.Mention("remember it"))), Addressed: true}
	b.play(in)
	if _, err := runOnce[ReplyOutput](b.Post, PostInput{Task: in.Task, Addressed: true}); err != nil {
		t.Fatal(err)
	}
	notes, err := b.Store.Notes(t.Context(), "T1", b.General)
	if err != nil || len(notes) != 2 {
		t.Fatalf("%+v, %v", notes, err)
	}
	promises, err := b.Store.PromisesOf(t.Context(), in.decisionKey())
	if err != nil || len(promises) != 2 {
		t.Fatalf("%+v, %v", promises, err)
	}
	proposals, err := b.Store.Proposals(t.Context(), store.ChoiceFilter{Team: "T1", All: true, Limit: 10})
	if err != nil || len(proposals) != 2 {
		t.Fatalf("%+v, %v", proposals, err)
	}
	posts := b.Workspace.Posts()
	texts := map[string]string{"post": posts[len(posts)-1].Text, "blocks": string(chat.PrintableJSON(posts[len(posts)-1].Blocks))}
	if texts["blocks"] != string(posts[len(posts)-1].Blocks) {
		t.Errorf("posted %s", posts[len(posts)-1].Blocks)
	}
	for i := range 2 {
		texts[fmt.Sprint("note ", i)], texts[fmt.Sprint("promise ", i)], texts[fmt.Sprint("proposal ", i)] = notes[i].Text, promises[i].What, proposals[i].Input
	}
	for what, text := range texts {
		if string(chat.PrintableJSON([]byte(text))) != text || !strings.Contains(text, "on Friday") || strings.Contains(text, "U+") {
			t.Errorf("%s: %q", what, text)
		}
	}
}
