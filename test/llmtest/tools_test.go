package llmtest

import (
	"encoding/json"
	"strings"
	"testing"

	"myao/internal/llm"
)

// What the providers refuse of tools, calls and results. That an adapter passes these rules is
// tested with the adapters.
func TestRulesOfTools(t *testing.T) {
	t.Parallel()
	const (
		openaiTools = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{}}}}}]`
		openaiUser  = `{"role":"user","content":"U"}`
		openaiCall  = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`
		openaiA     = `{"role":"tool","tool_call_id":"a","content":"x"}`
		openaiB     = `{"role":"tool","tool_call_id":"b","content":"x"}`

		claudeTools = `"tools":[{"name":"f","input_schema":{"type":"object"}}]`
		claudeUser  = `{"role":"user","content":"U"}`
		claudeCall  = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]}`
		claudeA     = `{"type":"tool_result","tool_use_id":"a","content":"x"}`
		claudeB     = `{"type":"tool_result","tool_use_id":"b"}`

		geminiTools = `"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object"}}]}]`
		geminiUser  = `{"role":"user","parts":[{"text":"U"}]}`
		geminiA     = `{"functionResponse":{"name":"f","response":{"output":"x"}}}`
	)
	// The signature is that of the parts without it.
	signature := geminiSignature([]map[string]any{{"functionCall": map[string]any{"name": "f"}}, {"functionCall": map[string]any{"name": "g"}}})
	geminiCall := `{"role":"model","parts":[{"functionCall":{"name":"f"},"thoughtSignature":"` + signature + `"},{"functionCall":{"name":"g"}}]}`
	geminiBoth := `{"role":"user","parts":[` + geminiA + `,` + strings.Replace(geminiA, `"f"`, `"g"`, 1) + `]}`
	ask := map[string]func(fields string, turns ...string) string{
		openaiPath: func(fields string, turns ...string) string {
			return `{"model":"m",` + fields + `"messages":[` + strings.Join(turns, ",") + `]}`
		},
		claudePath: func(fields string, turns ...string) string {
			return `{"model":"m","max_tokens":9,` + fields + `"messages":[` + strings.Join(turns, ",") + `]}`
		},
		geminiPath: func(fields string, turns ...string) string {
			return `{` + fields + `"contents":[` + strings.Join(turns, ",") + `]}`
		},
	}
	results := func(blocks ...string) string { return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}` }
	for _, tt := range []struct {
		path, tools string
		turns       []string
		says        string // "": accepted
	}{
		{openaiPath, openaiTools, []string{openaiUser, openaiCall, openaiB, openaiA}, ""},
		{openaiPath, openaiTools, []string{openaiUser, openaiA}, "must be a response to a preceding message"},
		{openaiPath, openaiTools, []string{openaiUser, openaiCall, openaiA, openaiA, openaiB}, "must be a response to a preceding message"},
		{openaiPath, openaiTools, []string{openaiUser, openaiCall, openaiA}, "did not have response messages: b"},
		{openaiPath, openaiTools, []string{openaiUser, openaiCall, openaiA, openaiUser}, "did not have response messages: b"},
		{openaiPath, openaiTools, []string{openaiUser, strings.Replace(openaiCall, `"id":"a"`, `"id":""`, 1), openaiB}, "invalid tool_calls"},
		{openaiPath, openaiTools, []string{openaiUser, strings.ReplaceAll(openaiCall, `"a"`, `"a_t"`), strings.ReplaceAll(openaiA, `"a"`, `"a_t"`), openaiB}, "missing `reasoning_content`"},
		{openaiPath, strings.Replace(openaiTools, `"f",`, `"f","strict":true,`, 1), []string{openaiUser}, "'additionalProperties' is required"},
		{openaiPath, strings.Replace(openaiTools, `"f",`, `"f g",`, 1), []string{openaiUser}, `invalid name "f g"`},
		{openaiPath, strings.Replace(openaiTools, `"object"`, `"string"`, 1), []string{openaiUser}, "must have the type object"},

		{claudePath, claudeTools, []string{claudeUser, claudeCall, results(claudeB, claudeA)}, ""},
		{claudePath, claudeTools, []string{claudeUser, claudeCall, results(claudeA)}, "without `tool_result` blocks immediately after: b"},
		{claudePath, claudeTools, []string{claudeUser, claudeCall}, "without `tool_result` blocks immediately after: a"},
		{claudePath, claudeTools, []string{claudeUser, claudeCall, results(claudeA, claudeB, claudeB)}, "unexpected `tool_use_id`"},
		{claudePath, claudeTools, []string{claudeUser, claudeCall, results(claudeA, `{"type":"text","text":"t"}`, claudeB)}, "must come first"},
		{claudePath, claudeTools, []string{claudeUser, claudeCall, results(claudeA), results(claudeB)}, "without `tool_result` blocks immediately after: b"},
		{claudePath, `"tools":[]`, []string{claudeUser, claudeCall, results(claudeB, claudeA)}, "must define tools"},
		{claudePath, claudeTools, []string{claudeUser, `{"role":"assistant","content":[{"type":"text","text":" "}]}`, claudeUser}, "non-whitespace text"},
		{claudePath, claudeTools, []string{claudeUser, strings.ReplaceAll(claudeCall, `"a"`, `"a_t"`), results(strings.ReplaceAll(claudeA, `"a"`, `"a_t"`), claudeB)}, "expected `thinking`"},
		{claudePath, claudeTools, []string{claudeUser, strings.Replace(claudeCall, `[`, `[{"type":"thinking","thinking":"t","signature":"s"},`, 1), results(claudeA, claudeB)}, "cannot be modified"},

		{geminiPath, geminiTools, []string{geminiUser, geminiCall, geminiBoth}, ""},
		{geminiPath, geminiTools, []string{geminiUser, geminiCall, `{"role":"user","parts":[` + geminiA + `]}`}, "number of function response parts"},
		{geminiPath, geminiTools, []string{geminiUser, geminiBoth}, "number of function response parts"},
		{geminiPath, geminiTools, []string{geminiUser, geminiCall, strings.Replace(geminiBoth, `"g"`, `"f"`, 1)}, "does not belong to its call"},
		{geminiPath, geminiTools, []string{geminiUser, geminiCall, strings.Replace(geminiBoth, `"user"`, `"function"`, 1)}, "does not belong to its call"},
		{geminiPath, geminiTools, []string{geminiUser, strings.Replace(geminiCall, `,"thoughtSignature":"`+signature+`"`, "", 1), geminiBoth}, "missing a thought_signature"},
		{geminiPath, geminiTools, []string{geminiUser, strings.Replace(geminiCall, signature, "c2ln", 1), geminiBoth}, "corrupted thought signature"},
		{geminiPath, geminiTools, []string{geminiUser, strings.Replace(geminiCall, `"g"}`, `"g"},"thoughtSignature":"`+signature+`"`, 1), geminiBoth}, "thought signature is not valid in content position 2, part position 2"},
		{geminiPath, `"tools":[]`, []string{geminiUser, geminiCall, geminiBoth}, "that nobody may make"},
	} {
		s := New(t, nil)
		body := ask[tt.path](tt.tools+",", tt.turns...)
		status, answer, err := post(t, s, tt.path, body)
		if want := map[bool]int{true: 200, false: 400}[tt.says == ""]; err != nil || status != want {
			t.Errorf("%s %s: got %d %s, %v", tt.path, body, status, answer, err)
		}
		var said struct{ Error struct{ Message string } }
		if err := json.Unmarshal([]byte(answer), &said); err != nil || !strings.Contains(said.Error.Message, tt.says) {
			t.Errorf("%s %s:\ngot  %s\nwant %s", tt.path, body, answer, tt.says)
		}
	}
}

// Gemini ends an answer whose arguments are no object; the others send what the model wrote.
func TestCallsWithoutAnObject(t *testing.T) {
	t.Parallel()
	s := New(t, Script(Calls(llm.Call{Name: "f", Input: json.RawMessage(`[1]`)})))
	plain := `{"contents":[{"role":"user","parts":[{"text":"U"}]}]}`
	if _, body, err := post(t, s, geminiPath, plain); err != nil || !strings.Contains(body, "MALFORMED_FUNCTION_CALL") {
		t.Errorf("got %s, %v", body, err)
	}
}
