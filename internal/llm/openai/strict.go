package openai

import (
	"bytes"
	"encoding/json"
	"slices"
)

// strictKeywords are the keywords of JSON schema that strict mode takes
// (developers.openai.com/api/docs/guides/structured-outputs).
var strictKeywords = []string{"type", "description", "title", "properties", "required", "additionalProperties", "items",
	"enum",
	"pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems",
	"maxItems"}

// strictFormats are the formats of texts that it takes.
var strictFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// strict returns the schema of a tool's input in the form that strict mode demands: no other
// properties, and all of them required. Optional ones may be null instead. ok is false if the
// schema cannot have that form.
func strict(schema json.RawMessage) (out json.RawMessage, ok bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(schema, &fields) != nil || fields["additionalProperties"] != nil &&
		string(fields["additionalProperties"]) != "false" {
		return nil, false
	}
	delete(fields, "$schema")
	for name := range fields {
		if !slices.Contains(strictKeywords, name) {
			return nil, false
		}
	}
	names, properties, ok := strictProperties(fields["properties"], optional(schema))
	if !ok {
		return nil, false
	}
	fields["properties"], fields["required"], fields["additionalProperties"] = properties, encoded(names),
		json.RawMessage("false")
	return encoded(fields), true
}

// strictProperties returns the properties, in their order, with null allowed for those that are
// nullable.
func strictProperties(object json.RawMessage, nullable []string) (names []string, out json.RawMessage, ok bool) {
	names, all := []string{}, bytes.NewBufferString("{")
	d := json.NewDecoder(bytes.NewReader(object))
	if object == nil { // a tool without input
		return names, json.RawMessage("{}"), true
	}
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, nil, false
	}
	for d.More() {
		token, err := d.Token()
		name, isName := token.(string)
		var p map[string]json.RawMessage
		if err != nil || !isName || d.Decode(&p) != nil || !strictProperty(p) || slices.Contains(nullable, name) &&
			!allowNull(p) {
			return nil, nil, false
		}
		if len(names) > 0 {
			all.WriteByte(',')
		}
		all.Write(slices.Concat(encoded(name), []byte(":"), encoded(p)))
		names = append(names, name)
	}
	all.WriteByte('}')
	return names, all.Bytes(), true
}

// strictProperty reports whether a property has the form of strict mode already. Objects below
// the top level are left alone: one with an optional property is not strict.
func strictProperty(p map[string]json.RawMessage) bool {
	for name := range p {
		if !slices.Contains(strictKeywords, name) {
			return false
		}
	}
	var format string
	if p["type"] == nil || p["format"] != nil && (json.Unmarshal(p["format"], &format) != nil ||
		!slices.Contains(strictFormats, format)) {
		return false
	}
	if p["items"] != nil {
		var items map[string]json.RawMessage
		return json.Unmarshal(p["items"], &items) == nil && strictProperty(items)
	}
	return p["properties"] == nil && !bytes.Contains(p["type"], []byte(`"object"`))
}

// allowNull adds null to a property.
func allowNull(p map[string]json.RawMessage) bool {
	var types []string
	var one string
	switch {
	case json.Unmarshal(p["type"], &one) == nil:
		types = []string{one}
	case json.Unmarshal(p["type"], &types) != nil:
		return false
	}
	if !slices.Contains(types, "null") {
		types = append(types, "null")
	}
	p["type"] = encoded(types)
	if p["enum"] != nil {
		var values []any
		if json.Unmarshal(p["enum"], &values) != nil {
			return false
		}
		if !slices.Contains(values, nil) {
			p["enum"] = encoded(append(values, nil))
		}
	}
	return true
}

// optional returns the properties that a schema does not require.
func optional(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	_ = json.Unmarshal(schema, &s)
	var names []string
	for name := range s.Properties {
		if !slices.Contains(s.Required, name) {
			names = append(names, name)
		}
	}
	return names
}
