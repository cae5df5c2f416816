package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Properties returns the names of the schema's properties in the order in which the provider has a
// model write them: that of propertyOrdering for Gemini, alphabetical without it; that of the schema for the others.
func (c Call) Properties() []string {
	names, ordering, err := propertiesOf(c.Schema)
	switch {
	case err != nil:
		return nil
	case c.Provider != "gemini":
		return names
	case ordering == nil:
		return slices.Sorted(slices.Values(names))
	}
	return ordering
}

// propertiesOf returns the names of a schema's properties as they are written, and its propertyOrdering. It
// refuses an ordering that does not name each property once.
func propertiesOf(schema json.RawMessage) (names, ordering []string, err error) {
	if len(schema) == 0 {
		return nil, nil, nil
	}
	var object struct {
		Properties json.RawMessage `json:"properties"`
		Ordering   []string        `json:"propertyOrdering"`
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		return nil, nil, fmt.Errorf("read schema: %w", err)
	}
	if names, err = keys(object.Properties); err != nil {
		return nil, nil, fmt.Errorf("read properties: %w", err)
	}
	if object.Ordering != nil && !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(object.Ordering))) {
		return nil, nil, errors.New("propertyOrdering must name each property once")
	}
	return names, object.Ordering, nil
}

// keys returns the keys of a JSON object as they are written; none without an object.
func keys(object json.RawMessage) ([]string, error) {
	if len(object) == 0 {
		return nil, nil
	}
	var all []string
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil { // the opening brace
		return nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil || !ok {
			return nil, errors.Join(errors.New("not an object"), err)
		}
		all = append(all, name)
	}
	return all, nil
}
