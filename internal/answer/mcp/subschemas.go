package mcp

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// schemas copies the keywords that have schemas.
func (p *part) schemas() {
	items, additional := "items", "additionalItems"
	if _, tuple := p.in[items].([]any); tuple { // as until draft 2019-09
		items, additional = "prefixItems", "items"
	}
	for _, key := range slices.Sorted(maps.Keys(p.in)) {
		v := p.in[key]
		if v == nil {
			continue
		}
		switch key {
		case "properties", "dependentSchemas":
			p.named(key, v)
		case "patternProperties":
			p.patterns(v)
		case "dependentRequired":
			p.dependencies(v)
		case "dependencies": // until draft 7
			p.dependencies(v)
		case "additionalProperties", "unevaluatedProperties", "unevaluatedItems":
			if yes, ok := v.(bool); ok {
				p.out[key] = yes
			} else {
				p.out[key] = p.inner(key, v)
			}
		case "propertyNames", "contains":
			p.out[key] = p.inner(key, v)
		case "items":
			if list, ok := v.([]any); ok {
				p.listed(items, list)
			} else {
				p.out[key] = p.inner(key, v)
			}
		case "additionalItems":
			if additional == "items" {
				p.out["items"] = p.inner(key, v)
			}
		case "prefixItems", "allOf", "anyOf":
			p.listed(key, v)
		}
	}
	p.alternatives()
	p.negations()
	if _, ok := p.out["patternProperties"]; !ok && p.in["patternProperties"] != nil && p.loose {
		delete(p.out, "additionalProperties")
	}
}

func (p *part) inner(key string, v any) map[string]any {
	out, loose := p.writer.schema(v, strings.TrimPrefix(p.path+"."+key, "."), p.depth+1, p.refs)
	p.loose = p.loose || loose
	return out
}

// named copies schemas by name.
func (p *part) named(key string, v any) {
	in, ok := v.(map[string]any)
	if !ok {
		p.skip(key, "%s has no schemas by name", brief(v))
		return
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		at := name
		if key != "properties" {
			at = key + "." + name
		}
		p.size += len(name)
		if p.full() {
			break
		}
		out[name] = p.inner(at, in[name])
	}
	p.out[key] = out
}

// patterns copies the schemas of properties whose names match an expression. If one is not known here, any other
// property may be meant by it.
func (p *part) patterns(v any) {
	in, ok := v.(map[string]any)
	if !ok {
		p.skip("patternProperties", "%s has no schemas by name", brief(v))
		return
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if _, err := regexp.Compile(name); err != nil {
			p.skip("patternProperties", "%s is an expression of another kind", brief(name))
			return
		}
		out[name] = p.inner("patternProperties", in[name])
	}
	p.out["patternProperties"] = out
}

// dependencies copies what else must be there if a property is.
func (p *part) dependencies(v any) {
	in, ok := v.(map[string]any)
	if !ok {
		p.skip("dependencies", "%s has no names", brief(v))
		return
	}
	required, schemas := map[string]any{}, map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if names, ok := texts(in[name]); ok {
			required[name] = anys(names)
		} else {
			schemas[name] = p.inner("dependencies."+name, in[name])
		}
	}
	if len(required) > 0 {
		p.out["dependentRequired"] = required
	}
	if before, ok := p.out["dependentSchemas"].(map[string]any); ok {
		maps.Copy(schemas, before)
	}
	if len(schemas) > 0 {
		p.out["dependentSchemas"] = schemas
	}
}

// listed copies a list of schemas.
func (p *part) listed(key string, v any) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		p.skip(key, "%s is no list of schemas", brief(v))
		return
	}
	var out []any
	for i, v := range list {
		out = append(out, p.inner(fmt.Sprintf("%s[%d]", key, i), v))
	}
	p.out[key] = out
}

// alternatives copies oneOf. If one of them takes more than it should, several may fit.
func (p *part) alternatives() {
	if p.in["oneOf"] == nil {
		return
	}
	before := p.loose
	p.loose = false
	p.listed("oneOf", p.in["oneOf"])
	if list := p.out["oneOf"]; p.loose && list != nil {
		delete(p.out, "oneOf")
		all, _ := p.out["allOf"].([]any)
		p.out["allOf"] = append(all, map[string]any{"anyOf": list})
	}
	p.loose = p.loose || before
}

// negations copies what turns on whether something does not fit. If more fits than should, nothing follows from it.
func (p *part) negations() {
	if v := p.in["not"]; v != nil {
		if out, loose := p.writer.schema(v, p.path, p.depth+1, p.refs); loose {
			p.loose = true
		} else {
			p.out["not"] = out
		}
	}
	if v := p.in["if"]; v != nil {
		condition, loose := p.writer.schema(v, p.path, p.depth+1, p.refs)
		if p.loose = p.loose || loose; !loose {
			p.out["if"] = condition
			for _, key := range []string{"then", "else"} {
				if v := p.in[key]; v != nil {
					p.out[key] = p.inner(key, v)
				}
			}
		}
	}
	if p.loose {
		delete(p.out, "maxContains")
	}
}
