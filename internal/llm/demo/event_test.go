package demo

import (
	"encoding/json"
	"strings"
	"testing"

	"myao/internal/chat"
	"myao/internal/llm"
)

// Asked to tell when something happens, the model waits for an event of a hook, if there is one.
func TestWaitsForAnEvent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, hooks, input string }{
		{"@myao tell us when build 7 is green", "ci, demo", `{"until":"ci","what":"build 7 is green","when":"in 7d"}`},
		{"@myao tell me here as soon as the demo build is green, at the latest on Friday at 9", "ci, demo", `{"until":"demo","what":"the demo build is green","when":"on Friday at 9"}`},
		{"@myao ビルド7が緑になったら教えて", "ci", `{"until":"ci","what":"ビルド7が緑","when":"in 7d"}`},
		{"@myao tell us when build 7 is green", "", ""},
	} {
		offered := llm.Tool{Name: chat.ToolLookAgain, Schema: json.RawMessage(`{"type":"object"}`), Description: "Makes a promise."}
		if tt.hooks != "" {
			offered.Description += " With until, events come by these hooks: " + tt.hooks + ". Say in what."
		}
		res, err := New().Generate(t.Context(), llm.Request{Purpose: llm.PurposeResponse, System: prompt("alice", tt.text), Prompt: "Answer.", Tools: []llm.Tool{offered}})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if res.Turn != nil {
			got = string(res.Turn.Calls[0].Input)
		}
		if got != tt.input {
			t.Errorf("%q: got %s, want %s", tt.text, got, tt.input)
		}
	}
}

// It has happened if one event has all words of what was promised; and it is settled if somebody has told it.
func TestWhetherItHasHappened(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ said, events, want string }{
		"the event":        {"alice: good", "2024-03-01 11:00:00:\nbuild: 7\nstatus: green", `"should_respond":true`},
		"two others":       {"alice: good", "2024-03-01 11:00:00:\nbuild: 7\nstatus: red\n\n2024-03-01 11:01:00:\nbuild: 6\nstatus: green", `"addressee":"someone"`},
		"another number":   {"alice: good", "2024-03-01 11:00:00:\nbuild: 77\nstatus: green", `"addressee":"someone"`},
		"somebody told it": {"bob: build 7 is green now", "2024-03-01 11:00:00:\nbuild: 8\nstatus: red", `"addressee":"nobody"`},
	} {
		author, text, _ := strings.Cut(tt.said, ": ")
		system := prompt(author, text) + "\n\n## Promise that waits for an event\n\nalice asked for it on 2024-03-01 09:00:00. It is due.\n\n### What you promised\n\nBuild 7 is green\n\n" +
			"### What has come by the hook ci\n\n" + tt.events + "\n\n## Whether it has happened\n\nDecide whether myao should tell now that it has."
		res, err := New().Generate(t.Context(), llm.Request{Purpose: llm.PurposeJudgment, System: system, Prompt: "Has it happened?", Schema: llm.VerdictSchema(0)})
		if err != nil || !strings.Contains(res.Text, tt.want) || strings.Contains(res.Text, `"should_respond":true`) != (name == "the event") {
			t.Errorf("%s: %s, %v", name, res.Text, err)
		}
	}
}
