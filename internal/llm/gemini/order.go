package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// ordered adds propertyOrdering to the schema of a request. Without it, Gemini may write the
// properties in alphabetical order: a verdict would state its confidence before it has a reason.
//
// The transport may change this body, although it leaves all others alone: the library has no field for
// the order, keeps its properties in a map, and does not look at the body again. The order is that of
// "required", which lists all properties. All other bytes stay as the library wrote them.
func ordered(body []byte) ([]byte, error) {
	var request struct {
		GenerationConfig struct {
			ResponseSchema json.RawMessage `json:"responseSchema"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("not of Gemini's form: %w", err)
	}
	schema := request.GenerationConfig.ResponseSchema
	if schema == nil {
		return body, nil
	}
	var object struct {
		Required json.RawMessage `json:"required"`
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		return nil, fmt.Errorf("not a schema of Gemini's: %w", err)
	}
	if object.Required == nil {
		return body, nil
	}
	// A prompt cannot hold the bytes of the schema, since its quotation marks are escaped.
	before, after, _ := bytes.Cut(body, schema)
	return slices.Concat(before, []byte(`{"propertyOrdering":`), object.Required, []byte(","), schema[1:], after), nil
}
