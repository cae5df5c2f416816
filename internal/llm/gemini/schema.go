package gemini

import (
	"encoding/json"
	"math"
	"slices"
)

// keywords are those that Gemini documents for JSON schemas, and as fields of its own
// (ai.google.dev/api/generate-content, responseJsonSchema; ai.google.dev/api/caching, Schema). It may refuse a request
// for any other.
var keywords = []string{
	"type", "format", "title", "description", "default", "enum", "items", "prefixItems", "minItems", "maxItems",
	"minimum", "maximum", "minLength", "maxLength", "pattern", "minProperties", "maxProperties", "anyOf", "oneOf",
	"properties", "additionalProperties", "required", "propertyOrdering", "$ref", "$defs", "$id", "$anchor", "$comment",
}

// parameters is the schema of a tool's input as Gemini takes it: with fewer bounds, which whoever runs the tool checks.
// A schema that it takes as it is keeps its order.
func parameters(schema json.RawMessage) json.RawMessage {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return schema
	}
	if reduced, changed := reduce(root); changed {
		if out, err := json.Marshal(reduced); err == nil {
			return out
		}
	}
	return schema
}

// reduce is a schema without what Gemini does not take.
func reduce(v any) (out any, changed bool) {
	in, ok := v.(map[string]any)
	if !ok {
		return v, false
	}
	s := map[string]any{}
	inner := func(v any) any {
		reduced, other := reduce(v)
		changed = changed || other
		return reduced
	}
	for key, v := range in {
		switch {
		case !slices.Contains(keywords, key):
			changed = true
		case key == "properties" || key == "$defs":
			named, _ := v.(map[string]any)
			all := map[string]any{}
			for name, p := range named {
				all[name] = inner(p)
			}
			s[key] = all
		case key == "anyOf" || key == "oneOf" || key == "prefixItems":
			list, _ := v.([]any)
			all := []any{}
			for _, p := range list {
				all = append(all, inner(p))
			}
			s[key] = all
		case key == "items" || key == "additionalProperties":
			s[key] = inner(v)
		case key == "enum":
			list, _ := v.([]any)
			all := slices.DeleteFunc(slices.Clone(list), func(v any) bool {
				_, text := v.(string)
				_, number := v.(float64)
				return !text && !number
			})
			if changed = changed || len(all) < len(list); len(all) > 0 {
				s[key] = all
			}
		default:
			s[key] = v
		}
	}
	// A whole number that must not reach a bound stops one before it. Any other comes as near as it likes.
	whole := in["type"] == "integer"
	if n, ok := in["exclusiveMinimum"].(float64); ok && s["minimum"] == nil {
		if s["minimum"] = n; whole {
			s["minimum"] = math.Floor(n) + 1
		}
	}
	if n, ok := in["exclusiveMaximum"].(float64); ok && s["maximum"] == nil {
		if s["maximum"] = n; whole {
			s["maximum"] = math.Ceil(n) - 1
		}
	}
	return s, changed
}
