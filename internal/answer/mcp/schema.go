package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// maxSchema bounds a schema with every reference written out, in bytes, and maxParts the schemas within it.
	maxSchema, maxParts = 32 << 10, 2000
	// maxRead is from which size on nothing of a schema is read.
	maxRead = 1 << 20
	// maxUnchecked is how many parts that are not checked are named.
	maxUnchecked = 20
)

// levels are how many levels of a schema are tried, until what is written out is not too large.
var levels = []int{60, 8, 5, 3, 2, 1}

// form is the schema of a tool's input as it is checked here: in one dialect, with every reference written out, and
// without what only the server can check. It takes whatever the server takes.
type form struct {
	plain map[string]any
	// unchecked says what was left out, with its place.
	unchecked []string
	*jsonschema.Resolved
}

var errNoObject = errors.New("its schema is not that of an object")

// read makes a form of a schema, whatever draft of JSON schema it follows. It fails if no object fits the schema.
func read(raw []byte) (form, error) {
	if len(raw) > maxRead {
		return anyObject("all of it: it has %d bytes", len(raw)), nil
	}
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		return form{}, errors.New("its schema is no JSON")
	}
	if root == nil || root == true {
		root = map[string]any{} // which says nothing of the input
	}
	if _, ok := root.(map[string]any); !ok {
		return form{}, errNoObject
	}
	for _, most := range levels {
		w := &writer{root: root, most: most}
		plain, _ := w.schema(root, "", 0, nil)
		kinds := kindsOf(plain["type"])
		if kinds != nil && !slices.Contains(kinds, "object") {
			return form{}, errNoObject
		}
		plain["type"] = "object"
		if w.full() {
			continue
		}
		out, err := json.Marshal(plain)
		if err != nil {
			return form{}, err
		}
		if len(out) > maxSchema {
			continue
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(out, &schema); err != nil {
			return anyObject("all of it: %v", err), nil
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			return anyObject("all of it: %v", err), nil
		}
		return form{plain, w.unchecked, resolved}, nil
	}
	return anyObject("all of it: it is too large"), nil
}

// anyObject is the form of any object, with the reason why no more is checked.
func anyObject(format string, args ...any) form {
	resolved, _ := (&jsonschema.Schema{Type: "object"}).Resolve(nil) // it has nothing that could be wrong
	return form{map[string]any{"type": "object"}, []string{fmt.Sprintf(format, args...)}, resolved}
}

// writer writes out a schema.
type writer struct {
	root any
	// most is how many levels are written out, count how many schemas were, and size about how many bytes of text.
	most, count, size int
	unchecked         []string
}

// full reports whether what is written out is too large.
func (w *writer) full() bool { return w.count > maxParts || w.size > maxSchema }

// skip notes what is not checked.
func (w *writer) skip(path, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = path + ": " + text
	}
	switch {
	case len(w.unchecked) < maxUnchecked && !slices.Contains(w.unchecked, text):
		w.unchecked = append(w.unchecked, text)
	case len(w.unchecked) == maxUnchecked:
		w.unchecked = append(w.unchecked, "more")
	}
}

// schema writes out a schema. loose is set if something in it is not checked, so that more fits than should. refs are
// the references that lead there.
func (w *writer) schema(v any, path string, depth int, refs []string) (out map[string]any, loose bool) {
	w.count++
	in, ok := v.(map[string]any)
	switch {
	case v == true:
		return map[string]any{}, false
	case v == false:
		return map[string]any{"not": map[string]any{}}, false
	case !ok:
		w.skip(path, "it is no schema")
		return map[string]any{}, true
	case depth > w.most:
		w.skip("", "what is nested deeper than %d levels", w.most)
		return map[string]any{}, true
	case w.full():
		return map[string]any{}, true
	}
	p := part{writer: w, in: in, out: map[string]any{}, path: path, depth: depth, refs: refs}
	p.values()
	p.schemas()
	p.reference()
	if p.loose { // what a schema within has looked at is not known any more
		delete(p.out, "unevaluatedProperties")
		delete(p.out, "unevaluatedItems")
	}
	return p.out, p.loose
}

// part is a schema within a schema while it is written out.
type part struct {
	*writer
	in, out map[string]any
	path    string
	depth   int
	refs    []string
	loose   bool
}

func (p *part) skip(key, format string, args ...any) {
	p.loose = true
	p.writer.skip(strings.Trim(p.path+"."+key, "."), format, args...)
}

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
		case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
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

// reference writes out a reference. The schema that it leads to counts together with the keywords beside it. Until
// draft 7, those keywords do not count.
func (p *part) reference() {
	for _, key := range []string{"$dynamicRef", "$recursiveRef"} {
		if p.in[key] != nil {
			p.skip(key, "it is not followed")
		}
	}
	ref, ok := p.in["$ref"].(string)
	if !ok {
		return
	}
	again := 0
	for _, r := range p.refs {
		if r == ref {
			again++
		}
	}
	target, found := pointed(p.root, ref)
	switch {
	case !found:
		p.skip("", "the reference %s leads nowhere within the schema", brief(ref))
		return
	case again > 1:
		p.skip("", "%s refers to itself", brief(ref))
		return
	}
	to, loose := p.writer.schema(target, p.path, p.depth+1, append(slices.Clone(p.refs), ref))
	p.loose = p.loose || loose
	says := func(key string, _ any) bool { return key != "title" && key != "description" && key != "default" }
	if p.old() {
		maps.DeleteFunc(p.out, says)
	}
	for key := range p.out {
		if says(key, nil) {
			all, _ := p.out["allOf"].([]any)
			p.out["allOf"] = append(all, to)
			return
		}
	}
	maps.Copy(to, p.out)
	p.out = to
}

// old reports whether the schema follows draft 7 or one before it.
func (w *writer) old() bool {
	root, _ := w.root.(map[string]any)
	draft, _ := root["$schema"].(string)
	return strings.Contains(draft, "/draft-0")
}

// pointed is what a reference such as #/$defs/item leads to.
func pointed(root any, ref string) (any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	path, err := url.PathUnescape(path)
	if !ok || err != nil {
		return nil, false
	}
	if path == "" {
		return root, true
	}
	path, ok = strings.CutPrefix(path, "/")
	if !ok {
		return nil, false
	}
	at := root
	for name := range strings.SplitSeq(path, "/") {
		switch in := at.(type) {
		case map[string]any:
			at, ok = in[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		case []any:
			i, err := strconv.Atoi(name)
			if ok = err == nil && i >= 0 && i < len(in); ok {
				at = in[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return at, true
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
