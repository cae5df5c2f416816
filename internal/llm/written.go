package llm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Written is what the text of an answer holds, where the server has not read all of it: servers
// without a parser for their model pass its thoughts and its calls of tools on as text.
type Written struct {
	// Text is for the reader: without thoughts, and without calls.
	Text string
	// Calls are the calls in the text. All of them are of offered tools.
	Calls []Call
	// Fault says, to the model, why the calls in the text cannot be taken; empty: there are none, or
	// they are taken.
	Fault string
}

// Read reads the text of an answer to r. Calls that stand in a code block before other text, or of a tool that is not
// offered beside other text, are for the reader. An answer with a schema is JSON, and has no calls.
func Read(r Request, text string) Written {
	text = WithoutThoughts(text)
	if r.Schema != nil {
		return Written{Text: text}
	}
	offered := func(name string) bool { return r.offers(name) != nil }
	found := scan(text, offered)
	w := Written{Text: text}
	if found.unreadable || len(found.calls) > 0 {
		w.Text = strings.TrimSpace(found.rest)
	}
	for i, c := range found.calls {
		tool := r.offers(c.name)
		if tool == nil {
			return Written{Text: w.Text, Fault: unoffered(r, c.name)}
		}
		w.Calls = append(w.Calls, Call{ID: CallID(len(r.Turns), i), Name: c.name, Input: c.input(tool.Schema)})
	}
	if found.unreadable {
		return Written{Text: w.Text, Fault: "it holds a call of a tool, written as text, that cannot be read"}
	}
	return w
}

// WritesCall reports whether a text holds a call of a tool, outside of code that is shown with other text.
func WritesCall(text string) bool {
	found := scan(text, func(string) bool { return false })
	return found.unreadable || len(found.calls) > 0
}

// Unusable is the error for an answer with calls that cannot be taken.
func (w Written) Unusable(provider string, used Usage) *Error {
	return &Error{Kind: ErrEmpty, Provider: provider, Message: "a call of a tool written as text: " + w.Fault,
		Fault: w.Fault, Text: w.Text, Usage: used}
}

func (r Request) offers(name string) *Tool {
	i := slices.IndexFunc(r.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Tools[i]
}

func unoffered(r Request, name string) string {
	if len(r.Tools) == 0 {
		return fmt.Sprintf("it calls %.64q, written as text, but no tool can be called for this message", name)
	}
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	return fmt.Sprintf("it calls %.64q, written as text, but the tools are: %s", name, strings.Join(names, ", "))
}

// writtenCall is a call as it stands in a text.
type writtenCall struct {
	name string
	// arguments is an object; nil if values has them.
	arguments json.RawMessage
	// values are the arguments where each is written as plain text.
	values map[string]string
}

// input returns the arguments as JSON. A plain value becomes what the tool's schema wants of it, if it
// can be read as that.
func (c writtenCall) input(schema json.RawMessage) json.RawMessage {
	if c.values == nil {
		return c.arguments
	}
	var s struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(schema, &s)
	object := map[string]json.RawMessage{}
	for name, value := range c.values {
		plain := strings.ToLower(strings.TrimSpace(value)) // True, False, None
		switch wanted := string(s.Properties[name].Type); {
		case strings.Contains(wanted, `"string"`):
			object[name], _ = json.Marshal(value)
		case json.Valid([]byte(value)):
			object[name] = json.RawMessage(value)
		case plain == "true" || plain == "false":
			object[name] = json.RawMessage(plain)
		case plain == "none":
			object[name] = json.RawMessage("null")
		default:
			object[name], _ = json.Marshal(value)
		}
	}
	input, _ := json.Marshal(object)
	return input
}
