package llm_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"myao/internal/llm"
	"myao/test/llmtest"
)

// searches is the call of most spellings below.
const searches = `search_messages {"query":"pay-7 \"down\""}`

// spellings are calls written as text, with what they are: names and inputs.
var spellings = map[string]struct {
	text string
	want []string
}{
	"Hermes": {"<tool_call>\n{\"name\": \"search_messages\", \"arguments\": {\"query\": \"pay-7 \\\"down\\\"\"}}\n</tool_call>", []string{searches}},
	"two of Hermes, with text around": {`I look.
<tool_call>{"name":"now"}</tool_call>
<tool_call>{"arguments":{"query":"pay-7 \"down\""},"name":"search_messages"}</tool_call>
One moment.`, []string{"now {}", searches}},
	"without an end":            {`<tool_call>{"name":"search_messages","arguments":{"query":"pay-7 \"down\""}}`, []string{searches}},
	"without a beginning":       {"{\"name\":\"search_messages\",\"arguments\":{\"query\":\"pay-7 \\\"down\\\"\"}}\n</tool_call>", []string{searches}},
	"arguments in a string":     {`<tool_call>{"name":"search_messages","arguments":"{\"query\":\"pay-7 \\\"down\\\"\"}"}</tool_call>`, []string{searches}},
	"a block within":            {"<tool_call>\n```json\n{\"name\":\"search_messages\",\"arguments\":{\"query\":\"pay-7 \\\"down\\\"\"}}\n```\n</tool_call>", []string{searches}},
	"after thoughts":            {"<think>\nI call <tool_call>.\n</think>\n<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>", []string{"now {}"}},
	"Qwen Coder":                {"<tool_call>\n<function=search_messages>\n<parameter=query>\npay-7 \"down\"\n</parameter>\n</function>\n</tool_call>", []string{searches}},
	"Qwen Coder, numbers":       {"<function=forget_note>\n<parameter=id>\n3\n</parameter>\n</function>", []string{`forget_note {"id":3}`}},
	"Qwen Coder, nothing":       {"<function=now>\n</function>", []string{"now {}"}},
	"GLM":                       {"<tool_call>search_messages\n<arg_key>query</arg_key>\n<arg_value>pay-7 \"down\"</arg_value>\n</tool_call>", []string{searches}},
	"Llama":                     {`<function=search_messages>{"query": "pay-7 \"down\""}</function>`, []string{searches}},
	"Llama, a token":            {`<|python_tag|>{"type": "function", "name": "search_messages", "parameters": {"query": "pay-7 \"down\""}}<|eom_id|>`, []string{searches}},
	"Llama, two objects":        {`<|python_tag|>{"name": "now", "parameters": {}}; {"name": "search_messages", "parameters": {"query": "pay-7 \"down\""}}`, []string{"now {}", searches}},
	"Llama, built in":           {`<|python_tag|>search_messages.call(query='pay-7 "down"')`, []string{searches}},
	"Llama 4":                   {`[now(), search_messages(query="pay-7 \"down\""), forget_note(id=3, sure=True)]`, []string{"now {}", searches, `forget_note {"id":3,"sure":true}`}},
	"bare":                      {`{"name": "search_messages", "parameters": {"query": "pay-7 \"down\""}}`, []string{searches}},
	"bare, after a sentence":    {"I look it up.\n\n{\"name\": \"search_messages\", \"parameters\": {\"query\": \"pay-7 \\\"down\\\"\"}}", []string{searches}},
	"bare, before a sentence":   {"{\"name\": \"search_messages\", \"parameters\": {\"query\": \"pay-7 \\\"down\\\"\"}}\n\nOne moment.", []string{searches}},
	"bare, OpenAI's object":     {`{"id":"1","type":"function","function":{"name":"search_messages","arguments":"{\"query\":\"pay-7 \\\"down\\\"\"}"}}`, []string{searches}},
	"bare, LangChain's":         {`{"action": "search_messages", "action_input": {"query": "pay-7 \"down\""}}`, []string{searches}},
	"a list":                    {`[{"name":"now","arguments":{}},{"name":"search_messages","arguments":{"query":"pay-7 \"down\""}}]`, []string{"now {}", searches}},
	"a block":                   {"```json\n{\"name\":\"search_messages\",\"arguments\":{\"query\":\"pay-7 \\\"down\\\"\"}}\n```", []string{searches}},
	"a block after a sentence":  {"I look it up:\n\n```json\n{\"name\":\"search_messages\",\"arguments\":{\"query\":\"pay-7 \\\"down\\\"\"}}\n```\n", []string{searches}},
	"two blocks":                {"```json\n{\"name\":\"now\",\"arguments\":{}}\n```\n```json\n{\"name\":\"search_messages\",\"arguments\":{\"query\":\"pay-7 \\\"down\\\"\"}}\n```", []string{"now {}", searches}},
	"a block without an end":    {"```\n{\"name\":\"now\",\"arguments\":{}}\n", []string{"now {}"}},
	"a block of code for tools": {"```tool_code\nprint(search_messages(query=\"pay-7 \\\"down\\\"\"))\n```", []string{searches}},
	"Mistral":                   {`[TOOL_CALLS][{"name": "now", "arguments": {}}, {"name": "search_messages", "arguments": {"query": "pay-7 \"down\""}}]`, []string{"now {}", searches}},
	"Mistral, with a space":     {`I look. [TOOL_CALLS] [{"name": "search_messages", "arguments": {"query": "pay-7 \"down\""}, "id": "abcdefghi"}]`, []string{searches}},
	"Mistral, names":            {`[TOOL_CALLS]now{}[TOOL_CALLS]search_messages{"query": "pay-7 \"down\""}`, []string{"now {}", searches}},
	"Mistral, names and marks":  {`[TOOL_CALLS]search_messages[CALL_ID]a1b2c3d4e[ARGS]{"query": "pay-7 \"down\""}</s>`, []string{searches}},
	"DeepSeek": {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>search_messages\n```json\n{\"query\":\"pay-7 \\\"down\\\"\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
		[]string{"now {}", searches}},
	"DeepSeek 3.1":    {`I look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search_messages<｜tool▁sep｜>{"query":"pay-7 \"down\""}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`, []string{searches}},
	"DeepSeek 3.2":    {"<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"search_messages\">\n<｜DSML｜parameter name=\"query\" string=\"true\">pay-7 \"down\"</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", []string{searches}},
	"Claude":          {"I look.\n<function_calls>\n<invoke name=\"now\">\n</invoke>\n<invoke name=\"search_messages\">\n<parameter name=\"query\">pay-7 \"down\"</parameter>\n</invoke>\n</function_calls>", []string{"now {}", searches}},
	"Claude, a space": {"<x:function_calls>\n<x:invoke name=\"search_messages\">\n<x:parameter name=\"query\">pay-7 \"down\"</x:parameter>\n</x:invoke>\n</x:function_calls>", []string{searches}},
	"invoke alone":    {`<invoke name="forget_note"><parameter name="id">3</parameter></invoke>`, []string{`forget_note {"id":3}`}},
	"MiniMax":         {"<minimax:tool_call>\n<invoke name=\"search_messages\">\n<parameter name=\"query\">pay-7 \"down\"</parameter>\n</invoke>\n</minimax:tool_call>", []string{searches}},
	"OpenAI":          {`functions.search_messages({"query":"pay-7 \"down\""})`, []string{searches}},
	"OpenAI, a name":  {`<tool_call>{"name":"functions.search_messages","arguments":{"query":"pay-7 \"down\""}}</tool_call>`, []string{searches}},
	"gpt-oss":         {`<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.search_messages <|constrain|>json<|message|>{"query":"pay-7 \"down\""}<|call|>`, []string{searches}},
	"Kimi":            {`<|tool_calls_section_begin|><|tool_call_begin|>functions.search_messages:0<|tool_call_argument_begin|>{"query":"pay-7 \"down\""}<|tool_call_end|><|tool_calls_section_end|>`, []string{searches}},
	"Gemma 4":         {`<|tool_call>call:search_messages{query:<|"|>pay-7 "down"<|"|>}<tool_call|><|tool_call>call:forget_note{id:3}<tool_call|>`, []string{searches, `forget_note {"id":3}`}},
	"FunctionGemma":   {`<start_function_call>call:search_messages{query:<escape>pay-7 "down"<escape>}<end_function_call>`, []string{searches}},
	"Granite":         {`<|tool_call|>[{"name": "search_messages", "arguments": {"query": "pay-7 \"down\""}}]`, []string{searches}},
	"Nemotron":        {`<TOOLCALL>[{"name": "search_messages", "arguments": {"query": "pay-7 \"down\""}}]</TOOLCALL>`, []string{searches}},
	"ReAct":           {"Thought: I look.\nAction: search_messages\nAction Input: {\"query\": \"pay-7 \\\"down\\\"\"}", []string{searches}},
}

// A call that a model writes as text is taken as if the server had read it, whichever way it is spelled, and its
// result goes back as that of any other.
func TestWrittenCalls(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		for name, spelled := range spellings {
			s.Handle(llmtest.Script(llmtest.Text(spelled.text), llmtest.Text("done")))
			r := asking()
			res, err := m.Generate(t.Context(), r)
			if err != nil || res.Turn == nil || res.Text != "" {
				t.Errorf("%s: got %+v, %v", name, res, err)
				continue
			}
			var got, want []any
			for i, c := range res.Turn.Calls {
				var input any
				_ = json.Unmarshal(c.Input, &input)
				got = append(got, c.Name, input)
				if c.ID != llm.CallID(0, i) {
					t.Errorf("%s: got the id %q", name, c.ID)
				}
			}
			for _, call := range spelled.want {
				called, input, _ := strings.Cut(call, " ")
				var object any
				if err := json.Unmarshal([]byte(input), &object); err != nil {
					t.Fatal(err)
				}
				want = append(want, called, object)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
			if text := res.Turn.Text; strings.ContainsAny(text, "<{[`") {
				t.Errorf("%s: got the text %q", name, text)
			}
			r.Turns = []llm.Turn{answered(t, res.Turn)}
			if res, err := m.Generate(t.Context(), r); err != nil || res.Text != "done" {
				t.Errorf("%s: with results: got %+v, %v", name, res, err)
			}
			calls := s.Calls()
			if back := calls[len(calls)-1].Turns; len(back) != 1 || len(back[0].Results) != len(spelled.want) || back[0].Results[0].Text != "result of "+res.Turn.Calls[0].Name {
				t.Errorf("%s: sent back %+v", name, back)
			}
		}
	})
}

// What cannot be taken is no answer either: the error says why, to the model.
func TestWrittenCallsThatCannotBeTaken(t *testing.T) {
	faults := map[string]string{
		`<tool_call>{"name":"search_web","arguments":{}}</tool_call>`:                       `"search_web"`,
		`I look. <tool_call>{"name":"search_web","arguments":{}}</tool_call>`:               `"search_web"`,
		`<tool_call>{"name":"now"}</tool_call><tool_call>{"name":"search_web"}</tool_call>`: `"search_web"`,
		`{"name":"search_web","arguments":{"q":"a"}}`:                                       `"search_web"`,
		"```json\n{\"name\":\"search_web\",\"arguments\":{\"q\":\"a\"}}\n```":               `"search_web"`,
		`functions.search_web({"q":"a"})`:                                                   `"search_web"`,
		`<tool_call>{"name":"search_messages","arguments":{"query":"a`:                      "cannot be read",
		`<tool_call>{"name":"search_messages","arguments":{'query':'a'}}</tool_call>`:       "cannot be read",
		`<tool_call>{"query":"a"}</tool_call>`:                                              "cannot be read",
		`I look. <tool_call>`:                                                               "cannot be read",
		`<function=search_messages>`:                                                        "cannot be read",
		"<function=search_messages>\n<parameter=query>\na":                                  "cannot be read",
		`<function=search_mess`:                                                             "cannot be read",
		`<invoke name="search_messages"><parameter name="query">a`:                          "cannot be read",
		`[TOOL_CALLS][{"name": "search_messages", "arguments": {"query": "a"`:               "cannot be read",
		`[TOOL_CALLS]search_messages{"query": "a"`:                                          "cannot be read",
		`<|python_tag|>search_messages.call(query="a"`:                                      "cannot be read",
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search_messages\n```json\n{\"query\":": "cannot be read",
		`{"name": "search_messages", "parameters": {"query": "a"`:                                          "cannot be read",
		"I look.\n{\"name\": \"search_messages\", \"parameters\": {\"query\": \"a\"":                       "cannot be read",
		`functions.search_messages({"query":"a"`:                                                           "cannot be read",
		`<|tool_call>call:search_messages{query:<|"|>a`:                                                    "cannot be read",
		`<tool_call>{"name":"now"}</tool_call> and <tool_call>{"name":`:                                    "cannot be read",
	}
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		for text, want := range faults {
			s.Handle(llmtest.Script(llmtest.Reply{Text: text, InputTokens: 5, OutputTokens: 4}, llmtest.Reply{Text: text, Cut: true}))
			res, err := m.Generate(t.Context(), asking())
			if err == nil {
				t.Errorf("%s: got %+v", text, res)
				continue
			}
			e := failure(t, err)
			if !errors.Is(err, llm.ErrEmpty) || !strings.Contains(e.Fault, want) || res.Text != "" || res.Turn != nil || res.Usage != (llm.Usage{Input: 5, Output: 4}) {
				t.Errorf("%s: got %+v, %v, fault %q", text, res, err, e.Fault)
			}
			if res, err := m.Generate(t.Context(), asking()); !errors.Is(err, llm.ErrCut) || res.Text != "" || failure(t, err).Text != "" {
				t.Errorf("%s, cut: got %+v, %v", text, res, err)
			}
		}
		// Where nothing can be called, nothing is.
		for name, spelled := range spellings {
			s.Handle(llmtest.Script(llmtest.Text(spelled.text)))
			_, err := m.Generate(t.Context(), request())
			switch {
			// what says no more than a name in parentheses may be a sentence, and a block may be for the reader
			case name == "Llama 4", name == "ReAct", name == "a block after a sentence", strings.HasPrefix(name, "bare, LangChain"):
			case !errors.Is(err, llm.ErrEmpty) || !strings.Contains(failure(t, err).Fault, "no tool can be called"):
				t.Errorf("%s, without tools: %v", name, err)
			}
		}
	})
}

// Answers that show calls, or look like them, are answers.
func TestAnswersAboutCalls(t *testing.T) {
	answers := []string{
		"Qwen writes its calls like this:\n\n```\n<tool_call>\n{\"name\": \"search_messages\", \"arguments\": {\"query\": \"a\"}}\n</tool_call>\n```\n\nThe server reads them.",
		"A call in JSON:\n```json\n{\"name\":\"search_web\",\"arguments\":{\"query\":\"a\"}}\n```",
		"A block in a block:\n````\n```json\n{\"name\":\"now\",\"arguments\":{}}\n```\n````",
		"```json\n{\"name\":\"search_messages\",\"arguments\":{\"query\":\"a\"}}\n```\nThat is a call in JSON.",
		"Four marks around three:\n````\n```json\n{\"name\":\"now\",\"arguments\":{}}\n```\n<tool_call>{\"name\":\"now\"}</tool_call>\n````\nDone.",
		"~~~\n<function=now></function>\n~~~\nLlama's.",
		"Write `<tool_call>{\"name\":\"now\"}</tool_call>` or ``[TOOL_CALLS][{\"name\":\"now\"}]``.",
		"Qwen puts its calls between <tool_call> and </tool_call>.",
		"Mistral's mark is [TOOL_CALLS], Llama's <|python_tag|>.",
		"The tag <function=NAME> names it, as <invoke name=…> does.",
		"Claude's tag is <function_calls>, with one <invoke> each.",
		"{\"name\":\"pay-7\",\"owner\":\"ana\"}",
		"{\"name\":\"pay-7\",\"parameters\":{\"replicas\":3},\"image\":\"pay:7\"}",
		"```json\n{\"name\":\"pay-7\",\"replicas\":3}\n```",
		"Call functions.https.onCall(handler) in Firebase.",
		"functions.reduce(x) folds a list.",
		"[see the notes](https://example.com/now)",
		"[now] is the time.",
		"- [ ] now()\n- [x] {\"name\":1}",
		"Action: restart pay-7 (see the runbook)\nOwner: ana",
		"now() returns the time.",
		"<details>\n{\"a\":1}\n</details>",
		"{",
		"[",
		"```",
		"Use <tool> tags: <tool> wraps the command.",
	}
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		for _, text := range answers {
			s.Handle(llmtest.Script(llmtest.Text(text)))
			for _, r := range []llm.Request{asking(), request()} {
				if res, err := m.Generate(t.Context(), r); err != nil || res.Text != text {
					t.Errorf("%q: got %+v, %v", text, res, err)
				}
			}
		}
	})
}

// Thoughts that the server has left in the text are for nobody, whatever its protocol.
func TestWrittenThoughts(t *testing.T) {
	texts := map[string]string{
		"<think>\nhm\n</think>\n\nhello":                       "hello",
		"<think>hm":                                            "",
		"hm\n</think>\nhello":                                  "hello",
		"<thinking>hm</thinking>hello":                         "hello",
		"<think></think><think>hm</think>hello":                "hello",
		"hello\n\n<think>\nWait, no.\n</think>\nyou":           "hello\n\n\nyou",
		"hello\n<think>\nWait":                                 "hello",
		"It thinks between <think> and </think>.":              "It thinks between <think> and </think>.",
		"```\n<think>\nhm\n</think>\n```\nThat is a thought.":  "```\n<think>\nhm\n</think>\n```\nThat is a thought.",
		"<think>\nA `<think>` of mine\n</think>Use `<think>`.": "Use `<think>`.",
		"First:\n<think> and </think> are the tags.":           "First:\n<think> and </think> are the tags.",
	}
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		for text, want := range texts {
			s.Handle(llmtest.Script(llmtest.Text(text)))
			if res, err := m.Generate(t.Context(), request()); res.Text != want || errors.Is(err, llm.ErrEmpty) != (want == "") {
				t.Errorf("%q: got %q, %v", text, res.Text, err)
			}
		}
	})
}
