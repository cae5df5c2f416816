package llm

import (
	"encoding/json"
	"regexp"
	"strings"
)

var (
	// halfPattern matches the beginning of a call in JSON.
	halfPattern = regexp.MustCompile(`^\s*\[?\s*\{\s*"(?:name|function|type)"\s*:(?s:.)*"(?:arguments|parameters)"\s*:`)
)

// json reads an object or a list that is one call or several, or a list of calls as Python writes them.
func (p scanner) json(at int, marked, whole bool) (calls []writtenCall, end int, like bool) {
	rest := p.text[at:]
	if !marked && !whole && !p.plausible(rest) {
		return nil, at, false
	}
	d := json.NewDecoder(strings.NewReader(rest))
	var raw json.RawMessage
	if d.Decode(&raw) != nil {
		if calls, end, ok := p.list(at, marked || whole); ok {
			return p.ruled(at, calls, end, marked, false)
		}
		return nil, at, marked || halfPattern.MatchString(rest)
	}
	objects := []json.RawMessage{raw}
	if raw[0] == '[' {
		if json.Unmarshal(raw, &objects) != nil {
			return nil, at, marked
		}
	}
	usual := true
	for _, o := range objects {
		c, asUsual, ok := callIn(o, marked)
		if !ok {
			return nil, at, marked
		}
		calls, usual = append(calls, c), usual && asUsual
	}
	return p.ruled(at, calls, at+int(d.InputOffset()), marked, usual)
}

func (p scanner) ruled(at int, calls []writtenCall, end int, marked, unoffered bool) ([]writtenCall, int, bool) {
	if marked {
		return calls, end, true
	}
	return p.unmarked(at, calls, end, unoffered)
}

// plausible reports, without reading it, whether what begins with a bracket may be a call.
func (p scanner) plausible(rest string) bool {
	head := strings.TrimLeft(rest[:min(len(rest), 200)], "[{ \t\r\n")
	return strings.HasPrefix(head, `"`) || p.offered(namePattern.FindString(head))
}

// The names of the fields of a call.
var (
	nameFields     = []string{"name", "function", "tool", "tool_name", "function_name", "action"}
	argumentFields = []string{"arguments", "parameters", "args", "input", "tool_input", "function_args", "action_input"}
	otherFields    = []string{"type", "id", "call_id", "tool_call_id", "index"}
)

// callIn reads a call in an object. Without a mark it must have a name, arguments and nothing else. usual is
// set if the fields have the most usual names.
func callIn(object json.RawMessage, marked bool) (c writtenCall, usual, ok bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return c, false, false
	}
	if nested := fields["function"]; len(nested) > 0 && nested[0] == '{' {
		return callIn(nested, marked)
	}
	usual = true
	for i, field := range nameFields {
		if fields[field] != nil && json.Unmarshal(fields[field], &c.name) == nil && c.name != "" {
			usual = i == 0
			delete(fields, field)
			break
		}
	}
	given := json.RawMessage(nil)
	for i, field := range argumentFields {
		if fields[field] != nil {
			usual = usual && i < 2
			given = fields[field]
			delete(fields, field)
			break
		}
	}
	for _, field := range otherFields {
		delete(fields, field)
	}
	c.name = plainName(c.name)
	if !toolName.MatchString(c.name) || !marked && (given == nil || len(fields) > 0) {
		return c, false, false
	}
	c.arguments, ok = objectIn(given)
	return c, usual, ok
}

// plainName returns a tool's name without what some models put around it.
func plainName(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(name), "functions."), "default_api.")
}

// objectIn returns arguments, which may be JSON in a string, or missing.
func objectIn(raw json.RawMessage) (json.RawMessage, bool) {
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		raw = json.RawMessage(strings.TrimSpace(s))
	}
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(`{}`), true
	}
	var object map[string]json.RawMessage
	return raw, json.Unmarshal(raw, &object) == nil
}

// object reads an object.
func (p scanner) object(at int) (raw json.RawMessage, end int, ok bool) {
	d := json.NewDecoder(strings.NewReader(p.text[at:]))
	if d.Decode(&raw) != nil || raw[0] != '{' {
		return nil, at, false
	}
	return raw, at + int(d.InputOffset()), true
}
