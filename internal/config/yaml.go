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

// parse reads the file's one YAML document into mappings, lists and scalars. A
// file that is no mapping at all is one fault without a key, and nil.
func parse(data []byte, f *faults) map[string]any {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		f.add("", "", "is empty; config.example.yaml shows what belongs into it")
		return nil
	case err != nil:
		f.add("", "", "is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	if err := dec.Decode(&next); !errors.Is(err, io.EOF) {
		f.add("", "", "holds several YAML documents; one is allowed")
		return nil
	}
	r := reader{faults: f}
	root, ok := r.value(doc.Content[0], "", 0).(map[string]any)
	switch {
	case r.tooMuch:
		f.add("", "", "is nested too deeply or repeats too much")
		return nil
	case doc.Content[0].ShortTag() == "!!null":
		f.add("", "", "is empty; config.example.yaml shows what belongs into it")
		return nil
	case !ok:
		f.add("", "", "must be a mapping of keys to values, as in config.example.yaml")
		return nil
	}
	return root
}

// reader turns YAML nodes into plain values, which yaml's own decoding would
// do without telling every duplicate, and with dates where text is meant.
type reader struct {
	faults  *faults
	nodes   int
	tooMuch bool
}

func (r *reader) value(n *yaml.Node, key string, depth int) any {
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		r.tooMuch = true
	}
	if r.tooMuch {
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, key, depth+1)
	case yaml.MappingNode:
		return r.mapping(n, key, depth)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = r.value(item, fmt.Sprintf("%s[%d]", key, i), depth+1)
		}
		return list
	}
	return r.scalar(n, key)
}

func (r *reader) mapping(n *yaml.Node, key string, depth int) map[string]any {
	m := make(map[string]any, len(n.Content)/2)
	lines := map[string]int{}
	var merged []map[string]any
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
		m[k.Value] = r.value(v, name, depth+1)
	}
	for _, other := range merged {
		for k, v := range other {
			if _, own := m[k]; !own {
				m[k] = v
			}
		}
	}
	return m
}

// merge returns what stands behind "<<": one mapping, or several of which the
// earlier win.
func (r *reader) merge(n *yaml.Node, key string, depth int) []map[string]any {
	v := r.value(n, key, depth+1)
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var all []map[string]any
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			r.faults.add(key, "", "must be a mapping, or a list of mappings")
			return nil
		}
		all = append(all, m)
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
