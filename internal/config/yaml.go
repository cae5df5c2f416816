package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Far more than any configuration needs; what bounds a file of aliases that
// refer to aliases.
const (
	maxNodes = 20_000
	maxDepth = 40
)

// place is where something stands in the file: the line of its key, and the places of
// what is below it. What stands behind an alias or a merge has the line where it was
// written.
type place struct {
	line  int
	below places
}

type places map[string]place

// parse reads the file's one YAML document into mappings, lists and scalars, and
// tells where each stands that has a value. A file that is no mapping at all is one
// fault without a key, and nil.
func parse(data []byte, f *faults) (map[string]any, places) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		f.add("", "", "is empty; config.example.yaml shows what belongs into it")
		return nil, nil
	case err != nil:
		f.add("", "", "is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil, nil
	}
	if err := dec.Decode(&next); !errors.Is(err, io.EOF) {
		f.add("", "", "holds several YAML documents; one is allowed")
		return nil, nil
	}
	r := reader{faults: f}
	value, where := r.value(doc.Content[0], "", 0)
	root, ok := value.(map[string]any)
	switch {
	case r.tooMuch:
		f.add("", "", "is nested too deeply or repeats too much")
		return nil, nil
	case doc.Content[0].ShortTag() == "!!null":
		f.add("", "", "is empty; config.example.yaml shows what belongs into it")
		return nil, nil
	case !ok:
		f.add("", "", "must be a mapping of keys to values, as in config.example.yaml")
		return nil, nil
	}
	return root, where
}

// reader turns YAML nodes into plain values, which yaml's own decoding would
// do without telling every duplicate, and with dates where text is meant.
type reader struct {
	faults  *faults
	nodes   int
	tooMuch bool
}

func (r *reader) value(n *yaml.Node, key string, depth int) (any, places) {
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		r.tooMuch = true
	}
	if r.tooMuch {
		return nil, nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, key, depth+1)
	case yaml.MappingNode:
		return r.mapping(n, key, depth)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i], _ = r.value(item, fmt.Sprintf("%s[%d]", key, i), depth+1)
		}
		return list, nil
	}
	return r.scalar(n, key), nil
}

func (r *reader) mapping(n *yaml.Node, key string, depth int) (map[string]any, places) {
	m, where := make(map[string]any, len(n.Content)/2), places{}
	lines := map[string]int{}
	var merged []mapping
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			r.faults.add(join(key, "?"), "", "line %d: a key must be plain text", k.Line)
			continue
		}
		name := join(key, k.Value)
		if k.ShortTag() == "!!merge" {
			merged = append(merged, r.merge(v, name, depth)...)
			continue
		}
		if first, twice := lines[k.Value]; twice {
			r.faults.add(name, "", "stands in line %d and again in line %d; once is allowed", first, k.Line)
			continue
		}
		lines[k.Value] = k.Line
		value, below := r.value(v, name, depth+1)
		if m[k.Value] = value; value != nil {
			where[k.Value] = place{line: k.Line, below: below}
		}
	}
	for _, other := range merged {
		for k, v := range other.values {
			if _, own := m[k]; own {
				continue
			}
			if m[k] = v; v != nil {
				where[k] = other.where[k]
			}
		}
	}
	return m, where
}

// mapping is one that is merged into another.
type mapping struct {
	values map[string]any
	where  places
}

// merge returns what stands behind "<<": one mapping, or several of which the
// earlier win.
func (r *reader) merge(n *yaml.Node, key string, depth int) []mapping {
	for n.Kind == yaml.AliasNode && n.Alias.Kind == yaml.SequenceNode {
		n = n.Alias
	}
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = n.Content
	}
	var all []mapping
	for _, item := range list {
		v, where := r.value(item, key, depth+1)
		m, ok := v.(map[string]any)
		if !ok {
			r.faults.add(key, "", "must be a mapping, or a list of mappings")
			return nil
		}
		all = append(all, mapping{m, where})
	}
	return all
}

func (r *reader) scalar(n *yaml.Node, key string) any {
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return nil
	case "!!str", "!!timestamp":
		return n.Value
	case "!!int", "!!float", "!!bool":
		var v any
		if err := n.Decode(&v); err != nil {
			r.faults.add(key, "", "line %d: is not what its tag %s says", n.Line, tag)
		}
		return v
	default:
		r.faults.add(key, "", "line %d: the tag %s is not known", n.Line, tag)
		return nil
	}
}

// join puts a dotted key together.
func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}
