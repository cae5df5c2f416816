package gemini

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"myao/internal/llm"
	"myao/test/llmtest"
)

func asking() llm.Request {
	r := request()
	r.Tools = []llm.Tool{{Name: "search", Description: "Searches.", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","minLength":1}},"required":["query"]}`)}}
	return r
}

// The wire format of tools, which the transport writes: JSON schema as it is, an answer's content
// as it came, results by name and, where the call had one, by id.
func TestToolsOnTheWire(t *testing.T) {
	t.Parallel()
	const content = `{"parts":[{"text":"I look.","thoughtSignature":"dA=="},{"functionCall":{"name":"search","args":{"query":"a"}},"thoughtSignature":"c2ln+/="},{"functionCall":{"id":"7","name":"search"},"futureThing":1}]}`
	// Google's own rules do not matter here, so no server of llmtest stands behind the second request.
	var sent []byte
	m, s := setup(t, llmtest.Script(llmtest.Reply{Raw: `{"candidates":[{"content":` + content + `,"finishReason":"STOP"}]}`}))
	r := asking()
	res, err := m.Generate(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	turn := *res.Turn
	want := []llm.Call{{ID: "call00000", Name: "search", Input: json.RawMessage(`{"query":"a"}`)}, {ID: "7", Name: "search", Input: json.RawMessage(`{}`)}}
	if !reflect.DeepEqual(turn.Calls, want) || turn.Text != "I look." {
		t.Errorf("got %s of %q", turn.Calls, turn.Text)
	}
	turn.Results = []llm.ToolResult{{CallID: "call00000", Name: "search", Text: "none"}, {CallID: "7", Name: "search", Text: "no query", Failed: true}}
	r.Turns = []llm.Turn{turn}
	if _, err := m.Generate(t.Context(), r); !errors.Is(err, llm.ErrInvalid) || len(s.Calls()) != 1 {
		t.Errorf("signatures that are not the server's: got %v", err)
	}
	sent, err = complete(withRequest(t.Context(), r), []byte(`{"model":"models/gemini-x","contents":[{"role":"user","parts":[{"text":"Judge."}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	expected := `{"model":"models/gemini-x",
		"tools":[{"functionDeclarations":[{"name":"search","description":"Searches.","parametersJsonSchema":` + string(r.Tools[0].Schema) + `}]}],
		"contents":[{"role":"user","parts":[{"text":"Judge."}]},{"role":"model",` + content[1:] + `,
			{"role":"user","parts":[{"functionResponse":{"name":"search","response":{"output":"none"}}},{"functionResponse":{"id":"7","name":"search","response":{"error":"no query"}}}]}]}`
	var a, b any
	if err := errors.Join(json.Unmarshal(sent, &a), json.Unmarshal([]byte(expected), &b)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got  %s\nwant %s", sent, expected)
	}
	turn.Opaque = json.RawMessage(`{"parts":[]}`)
	r.Turns = []llm.Turn{turn}
	if _, err := m.Generate(t.Context(), r); !errors.Is(err, llm.ErrInvalid) || !strings.Contains(err.Error(), "0 calls and 2 results") {
		t.Errorf("a turn without its calls: got %v", err)
	}
}

// How Gemini ends an answer that went astray.
func TestEndsOfCalls(t *testing.T) {
	t.Parallel()
	for finish, want := range map[string]error{
		"STOP": nil, "MAX_TOKENS": llm.ErrCut, "SAFETY": llm.ErrBlocked,
		"MALFORMED_FUNCTION_CALL": llm.ErrEmpty, "UNEXPECTED_TOOL_CALL": llm.ErrEmpty, "TOO_MANY_TOOL_CALLS": llm.ErrEmpty,
		"MISSING_THOUGHT_SIGNATURE": llm.ErrInvalid,
	} {
		m, _ := setup(t, llmtest.Script(llmtest.Reply{Raw: `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"search"}}]},"finishReason":"` + finish + `"}]}`}))
		if res, err := m.Generate(t.Context(), asking()); !errors.Is(err, want) || (res.Turn != nil) != (want == nil) {
			t.Errorf("%s: got %v, %v, want %v", finish, res.Turn, err, want)
		}
	}
}

// A schema is sent with the keywords that Gemini documents alone. One that has no other is sent as it is written.
func TestParameters(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"b":{"type":"string","maxLength":9},"a":{"type":["string","null"]}},"required":["b"]}`:                                                              "",
		`{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":2.5,"multipleOf":1}}}`:                                                                `{"properties":{"n":{"maximum":2,"minimum":1,"type":"integer"}},"type":"object"}`,
		`{"type":"object","properties":{"n":{"type":"number","exclusiveMinimum":0}}}`:                                                                                                       `{"properties":{"n":{"minimum":0,"type":"number"}},"type":"object"}`,
		`{"type":"object","properties":{"const":{"enum":["a",null,true,1],"const":1},"x":{"enum":[null]}}}`:                                                                                 `{"properties":{"const":{"enum":["a",1]},"x":{}},"type":"object"}`,
		`{"type":"object","properties":{"l":{"type":"array","uniqueItems":true,"items":{"not":{}}},"o":{"anyOf":[{"const":1},{"type":"object","additionalProperties":{"examples":[1]}}]}}}`: `{"properties":{"l":{"items":{},"type":"array"},"o":{"anyOf":[{},{"additionalProperties":{},"type":"object"}]}},"type":"object"}`,
		`no JSON`: "",
	} {
		if want == "" {
			want = schema
		}
		if got := string(parameters(json.RawMessage(schema))); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", schema, got, want)
		}
	}
}
