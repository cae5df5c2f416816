package mcp

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// declared is the form as models are given it. Providers refuse a request for a keyword that they do not know, and for
// alternatives at the top. So it has what all of them take; an input is checked by the whole form.
func (f form) declared() json.RawMessage {
	out := declare(f.plain, true)
	out["type"] = "object"
	if out["properties"] == nil {
		out["properties"] = map[string]any{}
	}
	raw, _ := json.Marshal(out) // of what was JSON
	return raw
}

// keptKeywords are the keywords that stay as they are.
var keptKeywords = []string{
	"type", "title", "description", "default", "format", "enum", "pattern", "minimum", "maximum", "exclusiveMinimum",
	"exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties",
	"maxProperties", "required",
}

// declare is a schema as models are given it. A part of a schema of its own has alternatives, a top has none.
func declare(in map[string]any, top bool) map[string]any {
	out := map[string]any{}
	for _, key := range keptKeywords {
		if v, ok := in[key]; ok {
			out[key] = v
		}
	}
	if v, ok := in["const"]; ok && out["enum"] == nil {
		out["enum"] = []any{v}
	}
	if properties, ok := in["properties"].(map[string]any); ok {
		all := map[string]any{}
		for name, p := range properties {
			if p := p.(map[string]any); !never(p) {
				all[name] = declare(p, false)
			}
		}
		out["properties"] = all
	}
	switch v := in["additionalProperties"].(type) {
	case bool:
		if v || in["patternProperties"] == nil {
			out["additionalProperties"] = v
		}
	case map[string]any:
		out["additionalProperties"] = declare(v, false)
	}
	if v, ok := in["items"].(map[string]any); ok && !never(v) {
		out["items"] = declare(v, false)
	}
	if list, ok := in["prefixItems"].([]any); ok {
		out["prefixItems"] = declareAll(list)
	}
	if out["items"] == nil && slices.Contains(kindsOf(out["type"]), "array") {
		out["items"] = map[string]any{}
	}
	all, _ := in["allOf"].([]any)
	for _, part := range declareAll(all) {
		join(out, part.(map[string]any))
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := in[key].([]any)
		switch {
		case len(list) == 0:
		case top || out["properties"] != nil:
			either(out, declareAll(list))
		case out["anyOf"] == nil:
			out["anyOf"] = declareAll(list)
		}
	}
	if top {
		delete(out, "enum")
	}
	complete(out)
	return out
}

func declareAll(list []any) (out []any) {
	for _, v := range list {
		out = append(out, declare(v.(map[string]any), false))
	}
	return out
}

// never reports whether nothing fits a schema.
func never(s map[string]any) bool {
	not, ok := s["not"].(map[string]any)
	return ok && len(not) == 0
}

// join adds what else must fit to a schema. What both say stays as the first says it.
func join(out, more map[string]any) {
	for key, v := range more {
		switch before, ok := out[key]; {
		case !ok:
			out[key] = v
		case key == "properties":
			for name, p := range v.(map[string]any) {
				if all := before.(map[string]any); all[name] == nil {
					all[name] = p
				}
			}
		case key == "required":
			out[key] = union(before.([]any), v.([]any))
		}
	}
}

// either adds alternatives to the schema of an object: the properties of all of them. A property is required if each
// alternative requires it.
func either(out map[string]any, alternatives []any) {
	properties, _ := out["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	var required []any
	first := true
	for _, v := range alternatives {
		a := v.(map[string]any)
		if of := kindsOf(a["type"]); of != nil && !slices.Contains(of, "object") {
			continue
		}
		more, _ := a["properties"].(map[string]any)
		for name, p := range more {
			properties[name] = oneOfBoth(properties[name], p)
		}
		names, _ := a["required"].([]any)
		if first {
			required = names
		}
		required = slices.DeleteFunc(slices.Clone(required),
			func(name any) bool { return !slices.Contains(names, name) })
		first = false
	}
	out["properties"] = properties
	if before, _ := out["required"].([]any); len(required) > 0 {
		out["required"] = union(before, required)
	}
}

// oneOfBoth is a schema that each of two fits. The first may be missing.
func oneOfBoth(one, other any) any {
	a, ok := one.(map[string]any)
	b := other.(map[string]any)
	if !ok || reflect.DeepEqual(a, b) {
		return other
	}
	values, ok := a["enum"].([]any)
	others, too := b["enum"].([]any)
	if ok && too && reflect.DeepEqual(a["type"], b["type"]) {
		out := maps.Clone(a)
		out["enum"] = union(values, others)
		return out
	}
	if list, ok := a["anyOf"].([]any); ok && len(a) == 1 {
		return map[string]any{"anyOf": union(list, []any{other})}
	}
	return map[string]any{"anyOf": []any{one, other}}
}

// union is both lists, each value once.
func union(one, other []any) []any {
	out := slices.Clone(one)
	for _, v := range other {
		if !slices.ContainsFunc(out, func(has any) bool { return reflect.DeepEqual(has, v) }) {
			out = append(out, v)
		}
	}
	return out
}

// complete adds what providers want to be said: the type of a list of texts, and each property that is required.
func complete(out map[string]any) {
	if _, ok := texts(out["enum"]); ok && out["type"] == nil {
		out["type"] = "string"
	}
	required, _ := out["required"].([]any)
	properties, ok := out["properties"].(map[string]any)
	if !ok && len(required) > 0 {
		properties = map[string]any{}
		out["properties"] = properties
	}
	for _, name := range required {
		if properties[name.(string)] == nil {
			properties[name.(string)] = map[string]any{}
		}
	}
}
