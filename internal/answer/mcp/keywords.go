package mcp

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// kinds are the types of JSON.
var kinds = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// kindsOf are the types that a schema allows; nil if it allows any.
func kindsOf(v any) (of []string) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, v := range list {
		if text, ok := v.(string); ok && slices.Contains(kinds, strings.ToLower(text)) {
			of = append(of, strings.ToLower(text))
		}
	}
	return of
}

// values copies the keywords that have a plain value.
func (p *part) values() {
	for _, key := range slices.Sorted(maps.Keys(p.in)) {
		v := p.in[key]
		if v == nil && key != "const" && key != "default" {
			continue // as some libraries write what is not set
		}
		p.size += len(key)
		switch key {
		case "type":
			switch of := kindsOf(v); {
			case len(of) == 0:
				p.skip(key, "%s is no type of JSON", brief(v))
			case len(of) == 1:
				p.out[key] = of[0]
			default:
				p.out[key] = anys(of)
			}
		case "title", "description", "format":
			if text, ok := v.(string); ok {
				p.size += len(text)
				p.out[key] = text
			}
		case "default", "const":
			p.size += sizeOf(v)
			p.out[key] = v
		case "enum":
			if list, ok := v.([]any); ok && len(list) > 0 {
				p.size += sizeOf(list)
				p.out[key] = list
			} else {
				p.skip(key, "%s is no list of values", brief(v))
			}
		case "minimum", "maximum", "multipleOf":
			if n, ok := v.(float64); ok && (key != "multipleOf" || n > 0) {
				p.out[key] = n
			} else {
				p.skip(key, "%s is no number that is taken", brief(v))
			}
		case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
			"maxContains":
			if n, ok := v.(float64); ok && n == math.Trunc(n) && n >= 0 && n <= math.MaxInt32 {
				p.out[key] = n
			} else {
				p.skip(key, "%s is no number that is taken", brief(v))
			}
		case "uniqueItems":
			if yes, ok := v.(bool); ok {
				p.out[key] = yes
			} else {
				p.skip(key, "%s is neither true nor false", brief(v))
			}
		case "pattern":
			text, ok := v.(string)
			if _, err := regexp.Compile(text); !ok || err != nil {
				p.skip(key, "%s is an expression of another kind", brief(v))
			} else {
				p.size += len(text)
				p.out[key] = text
			}
		case "required":
			if names, ok := texts(v); ok {
				p.size += sizeOf(v)
				p.out[key] = anys(names)
			} else {
				p.skip(key, "%s is no list of names", brief(v))
			}
		}
	}
	p.exclusive("exclusiveMinimum", "minimum")
	p.exclusive("exclusiveMaximum", "maximum")
	if p.in["nullable"] == true { // as OpenAPI 3.0 has it
		if of := kindsOf(p.out["type"]); of != nil && !slices.Contains(of, "null") {
			p.out["type"] = anys(append(of, "null"))
		}
		if list, ok := p.out["enum"].([]any); ok && !slices.Contains(list, nil) {
			p.out["enum"] = append(slices.Clone(list), nil)
		}
	}
}

// exclusive copies a bound that a number must not reach. In draft 4 it says so of another bound.
func (p *part) exclusive(key, bound string) {
	switch v := p.in[key].(type) {
	case nil:
	case float64:
		p.out[key] = v
	case bool:
		if n, ok := p.out[bound]; ok && v {
			p.out[key] = n
			delete(p.out, bound)
		}
	default:
		p.skip(key, "%s is no number that is taken", brief(v))
	}
}

// texts are the texts of a list; false if it has others, or is none.
func texts(v any) (all []string, ok bool) {
	list, ok := v.([]any)
	for _, v := range list {
		text, isText := v.(string)
		if ok = ok && isText; isText && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all, ok
}

func anys(all []string) []any {
	out := []any{}
	for _, text := range all {
		out = append(out, text)
	}
	return out
}

// sizeOf is how many bytes a value is written in.
func sizeOf(v any) int {
	raw, _ := json.Marshal(v) // of what was JSON
	return len(raw)
}

// brief is a value in a sentence.
func brief(v any) string {
	raw, _ := json.Marshal(v) // of what was JSON
	return cut(string(raw), 60)
}
