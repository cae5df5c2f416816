package activities

import (
	"strings"
	"testing"

	"myao/test/llmtest"
)

// An answer that is of no use costs one more request with what was wrong, or one without tools, so that
// what a tool has found is answered. Calls that the model writes as text are carried out, and never posted.
func TestAnswersOfNoUse(t *testing.T) {
	t.Parallel()
	said := func(text string) llmtest.Reply { return llmtest.Reply{Text: text, InputTokens: 10, OutputTokens: 1} }
	const (
		taken    = "I look.\n<tool_call>\n{\"name\": \"search_messages\", \"arguments\": {\"query\": \"a\"}}\n</tool_call>"
		unknown  = `{"name": "search_web", "parameters": {"query": "a"}}`
		halfOpen = `[TOOL_CALLS][{"name": "search_messages", "arguments": {"query`
		shown    = "Write it like this:\n```\n<tool_call>\n{\"name\": \"search_messages\", \"arguments\": {\"query\": \"a\"}}\n</tool_call>\n```\nThen the server reads it."
	)
	for name, tt := range map[string]struct {
		replies []llmtest.Reply
		looked  int
		// asked says for each request whether tools were offered, and whether the last answer's fault was told.
		asked []string
		want  string
	}{
		"nothing, after a tool has found something":  {[]llmtest.Reply{search("a"), said(""), said("Seven.")}, 1, []string{"tools", "tools", "found"}, "Seven."},
		"thoughts, after a tool has found something": {[]llmtest.Reply{search("a"), {Text: "<think>hm", InputTokens: 10, OutputTokens: 1, ThoughtTokens: 0}, said("Seven.")}, 1, []string{"tools", "tools", "found"}, "Seven."},
		"blanks at once":                  {[]llmtest.Reply{said(" \n\t"), said("Seven.")}, 0, []string{"tools", ""}, "Seven."},
		"a call as text":                  {[]llmtest.Reply{said(taken), said("Seven.")}, 1, []string{"tools", "tools"}, "Seven."},
		"a call as text, then nothing":    {[]llmtest.Reply{said(taken), said(""), said("Seven.")}, 1, []string{"tools", "tools", "found"}, "Seven."},
		"a call of no tool":               {[]llmtest.Reply{said(unknown), said("Seven.")}, 0, []string{"tools", "tools fault"}, "Seven."},
		"a call of no tool, then another": {[]llmtest.Reply{said(unknown), said(taken), said("Seven.")}, 1, []string{"tools", "tools fault", "tools"}, "Seven."},
		"half a call, twice":              {[]llmtest.Reply{said(halfOpen), said(halfOpen), said("Seven.")}, 0, []string{"tools", "tools fault", "fault"}, "Seven."},
		"nothing, then half a call":       {[]llmtest.Reply{said(""), said(halfOpen), said("Seven.")}, 0, []string{"tools", "", "fault"}, "Seven."},
		"a call that is shown":            {[]llmtest.Reply{said(shown)}, 0, []string{"tools"}, shown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withModel(llmtest.Script(tt.replies...)))
			f := b.withTools()
			task := inThread(b.say(b.Mention("how many dwarfs?")))
			b.play(ComposeInput{Task: task, Addressed: true})
			var asked []string
			for _, c := range b.Model.Calls() {
				var how []string
				if len(c.Tools) > 0 {
					how = append(how, "tools")
				}
				if len(c.Turns) == 0 && strings.Contains(c.System, `found {"query":`) {
					how = append(how, "found")
				}
				if strings.Contains(c.User, "Your last answer was not posted") {
					how = append(how, "fault")
				}
				asked = append(asked, strings.Join(how, " "))
			}
			parts := b.outbox(task)
			if len(parts) != 1 || parts[0].Text != tt.want || len(f.inputs) != tt.looked || strings.Join(asked, ", ") != strings.Join(tt.asked, ", ") {
				t.Errorf("the outbox has %+v after %d steps, and the model was asked with %q", parts, len(f.inputs), asked)
			}
			if d := b.decision(task); d.TokensIn != 10*len(tt.asked) || d.TokensOut < len(tt.asked) {
				t.Errorf("the ledger has %d and %d tokens for %d requests", d.TokensIn, d.TokensOut, len(tt.asked))
			}
		})
	}
}

// A model that answers nothing of use is not asked the same thing without end, and what it wrote is not posted.
func TestNoAnswerOfUse(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"nothing": "", "a call of no tool": `<tool_call>{"name": "search_web", "arguments": {}}</tool_call>`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withModel(llmtest.Script(llmtest.Text(text))))
			b.withTools()
			in := ComposeInput{Task: inThread(b.say(b.Mention("how many dwarfs?"))), Addressed: true}
			_, errs := runUntilDone[ReplyOutput](t, b.Compose, in)
			if len(errs) == 0 {
				t.Fatalf("composed %+v", b.outbox(in.Task))
			}
			if app := applicationError(t, errs[len(errs)-1]); !app.NonRetryable() || len(b.outbox(in.Task)) > 0 || len(b.Model.Calls()) != 3 {
				t.Errorf("after %d requests: %v", len(b.Model.Calls()), errs)
			}
		})
	}
}
