package mcp

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

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
