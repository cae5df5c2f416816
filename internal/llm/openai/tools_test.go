package openai

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"myao/internal/llm"
	"myao/test/llmtest"
)

var search = llm.Tool{Name: "search", Description: "Searches.",
	Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"from":{"type":"string","enum":["a"]}},"required":["query"]}`)}

func asking(tools ...llm.Tool) llm.Request {
	r := request()
	r.Tools = tools
	return r
}

// Strict mode demands that all properties are required. Optional ones may be null, and keep their
// order. A schema that cannot have that form is sent without strict.
func TestStrictTools(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{ // properties and what is required; "": not strict
		string(search.Schema): `{"query":{"type":"string"},"from":{"enum":["a",null],"type":["string","null"]}} ["query","from"]`,
		`{"type":"object"}`:   `{} []`,
		`{"$schema":"x","type":"object","properties":{"l":{"type":"array","items":{"type":"string"}},"b":{"type":["integer","null"]}}}`: `{"l":{"items":{"type":"string"},"type":["array","null"]},"b":{"type":["integer","null"]}} ["l","b"]`,
		`{"type":"object","additionalProperties":true}`:                                "",
		`{"type":"object","additionalProperties":{"type":"string"}}`:                   "",
		`{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`:       "",
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]}}}`:           "",
		`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/x"}}}}`: "",
		`{"type":"object","properties":{"a":{}}}`:                                      "",
		`{"type":"object","properties":{"a":{"type":"string","format":"uuid"}}}`:       `{"a":{"format":"uuid","type":["string","null"]}} ["a"]`,
		`{"type":"object","properties":{"a":{"type":"string","format":"color"}}}`:      "",
		`{"type":"object","properties":{"a":{"type":["object","string"]}}}`:            "",
		`{"type":"object","properties":{"a":true}}`:                                    "",
		`{"type":"object","properties":[]}`:                                            "",
		`{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{}]}`:          "",
	} {
		m, s := setup(t, nil)
		if _, err := m.Generate(t.Context(), asking(llm.Tool{Name: "f", Schema: json.RawMessage(schema)})); err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		var sent struct {
			Tools []struct {
				Function struct {
					Strict     bool
					Parameters struct {
						Properties, Required json.RawMessage
					}
				}
			}
		}
		if err := json.Unmarshal(s.Calls()[0].Body, &sent); err != nil {
			t.Fatal(err)
		}
		f := sent.Tools[0].Function
		got := ""
		if f.Strict {
			got = string(f.Parameters.Properties) + " " + string(f.Parameters.Required)
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", schema, got, want)
		}
	}
}

// A server that refuses strict schemas is asked without them, from then on at once.
func TestStrictIsRefused(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"Tools with mixed values for 'strict' are not allowed",
		"Invalid schema for function 'search': In context=(), 'additionalProperties' is not supported",
		`[{"type":"extra_forbidden","loc":["body","tools",0,"function","strict"],"msg":"Extra inputs are not permitted"}]`,
	} {
		m, s := setup(t, func(c llmtest.Call) llmtest.Reply {
			if strings.Contains(string(c.Body), `"strict":true`) {
				return llmtest.Reply{Status: 400, Message: message}
			}
			return llmtest.Calls(llmtest.ToolCall("search", `{"query":"a"}`))
		})
		for range 2 {
			if res, err := m.Generate(t.Context(), asking(search)); err != nil || res.Turn == nil || res.WithoutTools {
				t.Fatalf("%s: got %+v, %v", message, res, err)
			}
		}
		if n := len(s.Calls()); n != 3 {
			t.Errorf("%s: asked %d times, want 3", message, n)
		}
	}
}

// What a model wrote is handed on, whatever it is. Servers leave out ids, types and roles, which they want back.
func TestCallsAsServersWriteThem(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ message, finish, ids, inputs string }{
		"OpenAI":           {`{"role":"assistant","content":null,"refusal":null,"annotations":[],"tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":"{\"query\":\"x\"}"}}]}`, "tool_calls", "a", `{"query":"x"}`},
		"nulls of strict":  {`{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":"{\"query\":null,\"from\":null}"}}]}`, "tool_calls", "a", `{"query":null}`},
		"no JSON":          {`{"content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":"{\"query\":"}}]}`, "tool_calls", "a", `{"query":`},
		"no arguments":     {`{"content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":""}}]}`, "tool_calls", "a", `{}`},
		"an object":        {`{"content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":{"query":"x"}}}]}`, "stop", "a", `{"query":"x"}`},
		"an unknown tool":  {`{"content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"fly","arguments":"{\"from\":null}"}}]}`, "stop", "a", `{"from":null}`},
		"ids left out":     {`{"content":"","function_call":null,"tool_calls":[{"function":{"name":"search","arguments":"{}"}},{"id":"","function":{"name":"search","arguments":"{}"}}]}`, "", "call00000 call00001", "{} {}"},
		"the same id":      {`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":"{}"}},{"id":"a","type":"function","function":{"name":"search","arguments":"{}"}}]}`, "tool_calls", "a call00001", "{} {}"},
		"Gemini's thought": {`{"role":"assistant","tool_calls":[{"id":"a","type":"function","extra_content":{"google":{"thought_signature":"c2ln"}},"function":{"name":"search","arguments":"{}"}}]}`, "tool_calls", "a", "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, s := setup(t, llmtest.Script(llmtest.Reply{Raw: `{"choices":[{"index":0,"finish_reason":"` + tt.finish + `","message":` + tt.message + `}]}`}, llmtest.Text("done")))
			r := asking(search)
			res, err := m.Generate(t.Context(), r)
			if err != nil || res.Turn == nil {
				t.Fatalf("got %+v, %v", res, err)
			}
			var ids, inputs []string
			for _, c := range res.Turn.Calls {
				ids, inputs = append(ids, c.ID), append(inputs, string(c.Input))
				res.Turn.Results = append(res.Turn.Results, llm.ToolResult{CallID: c.ID, Name: c.Name, Text: "none"})
			}
			if got := strings.Join(ids, " "); got != tt.ids {
				t.Errorf("got ids %s, want %s", got, tt.ids)
			}
			if got := strings.Join(inputs, " "); got != tt.inputs {
				t.Errorf("got inputs %s, want %s", got, tt.inputs)
			}
			r.Turns = []llm.Turn{*res.Turn}
			if res, err := m.Generate(t.Context(), r); err != nil || res.Text != "done" {
				t.Fatalf("the turn came back: got %v", err)
			}
			sent := string(s.Calls()[1].Body)
			for _, refused := range []string{`"refusal":null`, `"function_call":null`, `"arguments":""`} {
				if strings.Contains(sent, refused) {
					t.Errorf("sent %s", sent)
				}
			}
			if strings.Contains(tt.message, "c2ln") != strings.Contains(sent, `"thought_signature":"c2ln"`) {
				t.Errorf("the signature is lost: %s", sent)
			}
		})
	}
}

// A call without a name is none: the answer is asked for again.
func TestCallsWithoutAName(t *testing.T) {
	t.Parallel()
	for _, calls := range []string{`[null]`, `[{}]`, `[{"id":7,"function":"f"}]`, `[{"id":"a","function":{"name":"search"}},{"function":null}]`, `"x"`, `[]`} {
		m, _ := setup(t, llmtest.Script(llmtest.Reply{Raw: `{"choices":[{"finish_reason":"tool_calls","message":{"content":"","tool_calls":` + calls + `}}]}`}))
		if res, err := m.Generate(t.Context(), asking(search)); !errors.Is(err, llm.ErrEmpty) || res.Turn != nil {
			t.Errorf("%s: got %+v, %v", calls, res.Turn, err)
		}
	}
}

// vLLM reads arguments again, and refuses those that are no JSON.
func TestArgumentsThatAServerDoesNotTakeBack(t *testing.T) {
	t.Parallel()
	m, s := setup(t, func(c llmtest.Call) llmtest.Reply {
		switch {
		case len(c.Turns) == 0:
			return llmtest.Calls(llmtest.ToolCall("search", `{"query"`), llmtest.ToolCall("search", `{"query":"b"}`))
		case string(c.Turns[0].Calls[0].Input) != "{}":
			return llmtest.Reply{Status: 400, Message: "Expecting ':' delimiter: line 1 column 9 (char 8)"}
		}
		return llmtest.Text("done")
	})
	r := asking(search)
	res, err := m.Generate(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Turn.Calls {
		res.Turn.Results = append(res.Turn.Results, llm.ToolResult{CallID: c.ID, Name: c.Name})
	}
	r.Turns = []llm.Turn{*res.Turn}
	if res, err := m.Generate(t.Context(), r); err != nil || res.Text != "done" || string(s.Calls()[2].Turns[0].Calls[1].Input) != `{"query":"b"}` {
		t.Fatalf("got %v", err)
	}
}

// A server that does not know a field of its model's own message gets the message without it.
func TestFieldsThatAServerDoesNotTakeBack(t *testing.T) {
	t.Parallel()
	m, s := setup(t, func(c llmtest.Call) llmtest.Reply {
		switch {
		case len(c.Turns) == 0:
			return llmtest.Reply{Raw: `{"choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","reasoning":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":"{}"}}]}}]}`}
		case strings.Contains(string(c.Body), `"reasoning"`):
			return llmtest.Reply{Status: 400, Message: "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning' is unsupported)]"}
		}
		return llmtest.Text("done")
	})
	r := asking(search)
	res, err := m.Generate(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	res.Turn.Results = []llm.ToolResult{{CallID: "a", Name: "search"}}
	r.Turns = []llm.Turn{*res.Turn}
	for range 2 {
		if res, err := m.Generate(t.Context(), r); err != nil || res.Text != "done" {
			t.Fatalf("got %v", err)
		}
	}
	if n := len(s.Calls()); n != 4 {
		t.Errorf("asked %d times, want 4", n)
	}
	if !slices.Contains(extraFields(res.Turn.Opaque), "reasoning") {
		t.Errorf("the turn lost its thoughts: %s", res.Turn.Opaque)
	}
}
