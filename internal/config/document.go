package config

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document returns the mapping that is the file's one YAML document. For any other file it
// returns nil, and adds one fault without a key.
func document(data []byte, f *faults) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF), err == nil && doc.Content[0].ShortTag() == "!!null":
		f.add("", nil, "is empty; config.example.yaml shows what belongs into it")
		return nil
	case err != nil:
		f.add("", nil, "is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	if err := dec.Decode(&next); !errors.Is(err, io.EOF) {
		f.add("", nil, "holds several YAML documents; one is allowed")
		return nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		f.add("", nil, "must be a mapping of keys to values, as in config.example.yaml")
		return nil
	}
	return root
}

// entry is a key of a mapping with its value.
type entry struct {
	name  string
	line  int // of the key, where it was written
	value *yaml.Node
}

// entries returns the keys of a mapping in the order of the file, followed by those that "<<"
// merges into it. A key that is no text, or comes twice, is a fault.
func (d *decoder) entries(n *yaml.Node, at place) []entry {
	var all, merged []entry
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		key := at.below(k.Value).key
		switch {
		case k.Kind != yaml.ScalarNode:
			d.faults.add(at.below("?").key, nil, "line %d: a key must be plain text", k.Line)
		case k.ShortTag() == "!!merge":
			merged = append(merged, d.merged(v, key, at)...)
		case lines[k.Value] > 0:
			d.faults.add(key, nil, "stands in line %d and again in line %d; once is allowed", lines[k.Value], k.Line)
		default:
			lines[k.Value] = k.Line
			all = append(all, entry{k.Value, k.Line, v})
		}
	}
	for _, e := range merged {
		if lines[e.name] == 0 {
			lines[e.name] = e.line
			all = append(all, e)
		}
	}
	return all
}

// merged returns the entries of what stands after "<<": a mapping, or a list of mappings.
// The caller lets the first entry of a name win.
func (d *decoder) merged(n *yaml.Node, key string, at place) []entry {
	for n.Kind == yaml.AliasNode && n.Alias.Kind == yaml.SequenceNode {
		n = n.Alias
	}
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = n.Content
	}
	at.depth++
	var all []entry
	for _, item := range list {
		if item.Kind == yaml.AliasNode {
			item = item.Alias
		}
		if item.Kind != yaml.MappingNode {
			d.faults.add(key, nil, "must be a mapping, or a list of mappings")
			return nil
		}
		if !d.within(at, 1+len(item.Content)) {
			return nil
		}
		all = append(all, d.entries(item, at)...)
	}
	return all
}
