package llmtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"myao/internal/llm"
)

// ToolCall is a call for Reply.Calls with the input as JSON.
func ToolCall(name, input string) llm.Call {
	return llm.Call{Name: name, Input: json.RawMessage(input)}
}

// Calls is an answer that calls tools.
func Calls(calls ...llm.Call) Reply { return Reply{Calls: calls} }

// seal returns a short hash of a value, the same for every order of an object's fields. Signatures
// are seals, so that any server can verify those of another.
func seal(v any) string {
	var plain any
	b, err := json.Marshal(v)
	if err == nil {
		if err = json.Unmarshal(b, &plain); err == nil {
			b, err = json.Marshal(plain)
		}
	}
	if err != nil {
		return "none"
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// without returns a copy of an object that lacks a field.
func without(object map[string]any, name string) map[string]any {
	out := map[string]any{}
	for k, v := range object {
		if k != name {
			out[k] = v
		}
	}
	return out
}

// callIDs gives an id to each call that has none. marked ids say that the answer holds thoughts,
// which have to come back.
func callIDs(prefix string, c Call, r Reply) []llm.Call {
	all := make([]llm.Call, len(r.Calls))
	for i, call := range r.Calls {
		if call.ID == "" {
			call.ID = prefix + strconv.Itoa(c.N) + "_" + strconv.Itoa(i)
			if r.ThoughtTokens > 0 {
				call.ID += thoughtMark
			}
		}
		all[i] = call
	}
	return all
}

const thoughtMark = "_t"

// named finds the fault of a list of declared tools.
func named(tools []llm.Tool) error {
	for i, t := range tools {
		var schema struct{ Type string }
		switch {
		case t.Name == "" || len(t.Name) > 64 || strings.ContainsFunc(t.Name, func(r rune) bool {
			return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-')
		}):
			return fmt.Errorf("tools[%d]: invalid name %q", i, t.Name)
		case json.Unmarshal(t.Schema, &schema) != nil || schema.Type != "object":
			return fmt.Errorf("tools[%d]: the schema of %s must have the type object", i, t.Name)
		}
		for _, other := range tools[:i] {
			if other.Name == t.Name {
				return fmt.Errorf("tools[%d]: duplicate name %s", i, t.Name)
			}
		}
	}
	return nil
}

// strict finds the fault of a schema that a request declares strict.
func strict(schema json.RawMessage) error {
	names, _, err := propertiesOf(schema)
	if err != nil {
		return err
	}
	var object struct {
		Required   []string `json:"required"`
		Additional *bool    `json:"additionalProperties"`
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	if object.Additional == nil || *object.Additional {
		return errors.New("'additionalProperties' is required to be supplied and to be false")
	}
	required := map[string]bool{}
	for _, name := range object.Required {
		required[name] = true
	}
	for _, name := range names {
		if !required[name] {
			return fmt.Errorf("'required' is required to be supplied and to be an array including every key in properties. Missing '%s'", name)
		}
	}
	return nil
}
