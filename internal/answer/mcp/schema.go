package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
