package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"myao/internal/llm"
	"myao/test/llmtest"
)

// The API writes blank texts beside calls, but does not take them back, nor blank results.
func TestBlankTexts(t *testing.T) {
	t.Parallel()
	m, s := setup(t, llmtest.Script(
		llmtest.Reply{Raw: `{"role":"assistant","content":[{"type":"text","text":"\n"},{"type":"tool_use","id":"a","name":"search","input":{}},{"type":"redacted_thinking","data":"x"}],"stop_reason":"tool_use"}`},
		llmtest.Text("done")))
	r := request()
	r.Tools = []llm.Tool{{Name: "search", Schema: json.RawMessage(`{"type":"object","$defs":{}}`)}}
	res, err := m.Generate(t.Context(), r)
	if err != nil || res.Turn == nil {
		t.Fatalf("got %+v, %v", res, err)
	}
	res.Turn.Results = []llm.ToolResult{{CallID: "a", Name: "search", Text: " "}}
	r.Turns = []llm.Turn{*res.Turn}
	if res, err := m.Generate(t.Context(), r); err != nil || res.Text != "done" {
		t.Fatalf("got %v", err)
	}
	c := s.Calls()[1]
	if !strings.Contains(string(c.Body), `{"type":"redacted_thinking","data":"x"}`) || string(c.Tools[0].Schema) != `{"type":"object","$defs":{}}` {
		t.Errorf("sent %s", c.Body)
	}
}
