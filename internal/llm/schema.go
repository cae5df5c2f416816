package llm

import (
	"bytes"
	"encoding/json"
	"fmt"

	"myao/internal/chat"
)

// Type is the JSON type of a property.
type Type string

// The types that every provider's structured output supports.
const (
	String  Type = "string"
	Boolean Type = "boolean"
	Number  Type = "number"
	Integer Type = "integer"
)

// Schema is the form of a JSON object. All properties are required and no
// others are allowed, as OpenAI's strict mode demands. An optional property is
// nullable instead.
type Schema struct {
	// Name is up to 64 letters, digits, underscores and dashes.
	Name string
	// Properties are in the order in which the model should write them.
	Properties []Property
}

// Property is one field of the object.
type Property struct {
	Name        string
	Type        Type
	Description string
	Nullable    bool
	// Enum lists the allowed values of a string.
	Enum []string
	// Maximum is the greatest allowed value, nil for none. Strict modes refuse it as a
	// constraint, so the description has to state it.
	Maximum *int
}

// JSONSchema returns the schema as JSON Schema, with the properties in order.
func (s *Schema) JSONSchema() json.RawMessage {
	var props bytes.Buffer
	required := make([]string, 0, len(s.Properties))
	props.WriteByte('{')
	for i, p := range s.Properties {
		if i > 0 {
			props.WriteByte(',')
		}
		props.Write(marshal(p.Name))
		props.WriteByte(':')
		props.Write(p.jsonSchema())
		required = append(required, p.Name)
	}
	props.WriteByte('}')
	return marshal(struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
		Additional bool            `json:"additionalProperties"`
	}{"object", props.Bytes(), required, false})
}

func (p Property) jsonSchema() json.RawMessage {
	var form struct {
		Type        any    `json:"type"`
		Description string `json:"description,omitempty"`
		Enum        []any  `json:"enum,omitempty"`
	}
	form.Type, form.Description = p.Type, p.Description
	for _, v := range p.Enum {
		form.Enum = append(form.Enum, v)
	}
	if p.Nullable {
		form.Type = []Type{p.Type, "null"}
		if form.Enum != nil {
			form.Enum = append(form.Enum, nil)
		}
	}
	return marshal(form)
}

// marshal encodes values of strings, numbers and lists, which cannot fail.
func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("llm: a schema that is not JSON: %v", err))
	}
	return b
}

// VerdictSchema returns the form of a judgment: what the model sees, whether to speak, how sure
// it is, and how long to wait before, from 0 to maxDelay seconds. A model writes the fields in their
// order, so those that it should think about come before the decision. reactions are the names of the
// emoji that may stand for the reply; without any, the model is not asked for one.
func VerdictSchema(maxDelay int, reactions ...string) *Schema {
	s := &Schema{
		Name: "verdict",
		Properties: []Property{
			{Name: "addressee", Type: String,
				Description: "whom the new messages are meant for: me, someone else, everyone, or nobody; if they " +
					"differ, that of the one you would answer, or else of the newest",
				Enum: []string{chat.AddresseeMe, chat.AddresseeSomeone, chat.AddresseeEveryone,
					chat.AddresseeNobody}},
			{Name: "gist", Type: String, Description: "what you would add, in at most 15 words; empty if there is " +
				"nothing"},
			{Name: "reason", Type: String, Description: "one short line: what decided it"},
			{Name: "should_respond", Type: Boolean, Description: "true to speak, false to stay silent"},
			{Name: "confidence", Type: Number, Description: "how certain the decision is, from 0 to 1"},
			{Name: "delay_seconds", Type: Integer, Nullable: true, Maximum: &maxDelay,
				Description: fmt.Sprintf("whole seconds to hold back before speaking, from 0 to %d; null only when "+
					"silent", maxDelay)},
		},
	}
	if len(reactions) > 0 {
		s.Properties = append(s.Properties, Property{
			Name: "react", Type: String, Nullable: true, Enum: reactions,
			Description: "the emoji that says all of gist; null to write instead, and when silent",
		})
	}
	return s
}
