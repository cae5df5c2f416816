package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"myao/internal/llm"
)

// tool declares a tool.
func tool(t llm.Tool, d dialect) sdk.ChatCompletionToolUnionParam {
	f := shared.FunctionDefinitionParam{Name: t.Name, Description: sdk.String(t.Description)}
	schema := t.Schema
	if s, ok := strict(schema); ok && !d.lax {
		f.Strict, schema = sdk.Bool(true), s
	}
	var fields map[string]json.RawMessage // the order of the properties stays
	_ = json.Unmarshal(schema, &fields)   // Check has read it
	f.Parameters = shared.FunctionParameters{}
	for name, field := range fields {
		f.Parameters[name] = field
	}
	return sdk.ChatCompletionFunctionTool(f)
}

// turn returns the messages of a turn: the model's, as it wrote it, and one for each result. A tool's
// message takes nothing but text, so the files of results follow in a user's message.
func turn(t llm.Turn, d dialect) []sdk.ChatCompletionMessageParamUnion {
	said := t.Opaque
	if d.bare {
		said = bare(said)
	}
	message := param.Override[sdk.ChatCompletionAssistantMessageParam](said)
	all := []sdk.ChatCompletionMessageParamUnion{{OfAssistant: &message}}
	var files []sdk.ChatCompletionContentPartUnionParam
	for _, r := range t.Results {
		all = append(all, sdk.ToolMessage(r.Text, r.CallID))
		if len(r.Files) > 0 {
			files = append(files, sdk.TextContentPart(llm.ReturnedBy(r)))
			files = append(files, parts(r.Files)...)
		}
	}
	if len(files) > 0 {
		all = append(all, sdk.UserMessage(files))
	}
	return all
}

// plainFields are the fields of a message that every server takes back.
var plainFields = []string{"role", "content", "tool_calls"}

// extraFields returns the names of a message's other fields.
func extraFields(said json.RawMessage) []string {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(said, &fields)
	var extra []string
	for name := range fields {
		if !slices.Contains(plainFields, name) {
			extra = append(extra, name)
		}
	}
	return extra
}

// bare returns a message without the fields that its server may not take back, and with an empty
// object for arguments that are none.
func bare(said json.RawMessage) json.RawMessage {
	fields, calls := fieldsOf(said)
	for _, name := range extraFields(said) {
		delete(fields, name)
	}
	for _, call := range calls {
		if f := functionOf(call); !isObject(f.input()) {
			f.Arguments = encoded("{}")
			call["function"] = encoded(f)
		}
	}
	fields["tool_calls"] = encoded(calls)
	return encoded(fields)
}

func fieldsOf(said json.RawMessage) (fields map[string]json.RawMessage, calls []map[string]json.RawMessage) {
	_ = json.Unmarshal(said, &fields)
	_ = json.Unmarshal(fields["tool_calls"], &calls)
	return fields, calls
}

// function is what a call calls.
type function struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func functionOf(call map[string]json.RawMessage) (f function) {
	_ = json.Unmarshal(call["function"], &f)
	return f
}

// input returns the arguments, which are JSON in a string; some servers send the object.
func (f function) input() json.RawMessage {
	input := f.Arguments
	var s string
	if json.Unmarshal(input, &s) == nil {
		input = json.RawMessage(s)
	}
	if len(bytes.TrimSpace(input)) == 0 {
		return json.RawMessage(`{}`)
	}
	return input
}

func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil
}

// encoded encodes parts of a message, which were JSON before.
func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("openai: a message that is not JSON: %v", err))
	}
	return b
}

// turnOf reads the calls of a message; nil: it has none, or one without a name. Opaque is the
// message, with thoughts and signatures. It lacks fields that are null, which older servers refuse,
// and has what the server left out but wants back: role, ids, types, and arguments in a string.
func turnOf(r llm.Request, m sdk.ChatCompletionMessage) *llm.Turn {
	fields, calls := fieldsOf(json.RawMessage(m.RawJSON()))
	if len(calls) == 0 {
		return nil
	}
	for name, value := range fields {
		if string(value) == "null" && name != "content" {
			delete(fields, name)
		}
	}
	t := &llm.Turn{Provider: provider, Text: llm.WithoutThoughts(text(m))}
	used := map[string]bool{}
	for i, call := range calls {
		f := functionOf(call)
		if f.Name == "" {
			return nil
		}
		var id string
		_ = json.Unmarshal(call["id"], &id)
		if id == "" || used[id] {
			id = llm.CallID(len(r.Turns), i)
			call["id"] = encoded(id)
		}
		used[id] = true
		if call["type"] == nil {
			call["type"] = encoded("function")
		}
		input := f.input()
		if !strings.HasPrefix(string(f.Arguments), `"`) || string(input) == "{}" {
			f.Arguments = encoded(string(input))
			call["function"] = encoded(f)
		}
		t.Calls = append(t.Calls, llm.Call{ID: id, Name: f.Name, Input: withoutNulls(input, schemaOf(r, f.Name))})
	}
	fields["role"], fields["tool_calls"] = encoded("assistant"), encoded(calls)
	t.Opaque = encoded(fields)
	return t
}

// turnOfWritten is a turn with calls that stood in the text, as the server would have returned it; nil:
// there are none.
func turnOfWritten(r llm.Request, w llm.Written) *llm.Turn {
	if len(w.Calls) == 0 {
		return nil
	}
	type call struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	var said struct {
		Role    string  `json:"role"`
		Content *string `json:"content"`
		Calls   []call  `json:"tool_calls"`
	}
	if said.Role = "assistant"; w.Text != "" {
		said.Content = &w.Text
	}
	for i, c := range w.Calls {
		w.Calls[i].Input = withoutNulls(c.Input, schemaOf(r, c.Name))
		wire := call{ID: c.ID, Type: "function"}
		wire.Function.Name, wire.Function.Arguments = c.Name, string(c.Input)
		said.Calls = append(said.Calls, wire)
	}
	return &llm.Turn{Provider: provider, Opaque: encoded(said), Text: w.Text, Calls: w.Calls}
}

func schemaOf(r llm.Request, name string) json.RawMessage {
	for _, t := range r.Tools {
		if t.Name == name {
			return t.Schema
		}
	}
	return nil
}

// withoutNulls leaves out what a strict schema made the model write: null for an optional property.
func withoutNulls(input, schema json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(input, &object) != nil {
		return input
	}
	nulls := 0
	for _, name := range optional(schema) {
		if string(object[name]) == "null" {
			delete(object, name)
			nulls++
		}
	}
	if nulls == 0 {
		return input
	}
	return encoded(object)
}
