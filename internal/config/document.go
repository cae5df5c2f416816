package config

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document returns the file's only YAML document, which must be a mapping. Otherwise it adds one
// fault without a key and returns nil.
func document(data []byte, f *faults) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF), err == nil && doc.Content[0].ShortTag() == "!!null":
		f.add("", nil, "is empty; config.example.yaml shows what belongs in it")
		return nil
	case err != nil:
		f.add("", nil, "is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	if err := dec.Decode(&next); !errors.Is(err, io.EOF) {
		f.add("", nil, "has several YAML documents; only one is allowed")
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
	line  int // of the key
	value *yaml.Node
}

// entries returns the keys of a mapping in file order, followed by the keys that "<<" merges
// into it. A key that is not text or is repeated is a fault.
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
			d.faults.add(key, nil, "is set in line %d and again in line %d; set it once", lines[k.Value], k.Line)
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

// merged returns the entries of the mapping, or of the list of mappings, after "<<". If a name
// occurs twice, the first entry wins.
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
