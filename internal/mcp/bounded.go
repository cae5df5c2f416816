package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// The size of a schema with every reference written out. Checking an input takes as many steps, and
// a schema that refers to itself would never end.
const maxParts, maxDepth = 20_000, 100

// bounded fails for a schema that is too large once its references are written out, or whose references
// do not lead into itself.
func bounded(root map[string]any) error {
	parts := 0
	var walk func(v any, depth int) error
	walk = func(v any, depth int) error {
		if parts++; parts > maxParts || depth > maxDepth {
			return errors.New("its schema is nested too deeply, or refers to itself")
		}
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				if err := walk(item, depth+1); err != nil {
					return err
				}
			}
		case map[string]any:
			for key, value := range v {
				text, isText := value.(string)
				switch {
				case isText && (key == "$dynamicRef" || key == "$recursiveRef" || key == "$id" && depth > 0):
					return fmt.Errorf("its schema uses %s", key)
				case isText && key == "$ref":
					target, ok := pointed(root, text)
					if !ok {
						return errors.New("its schema has a reference that does not lead into it")
					}
					value = target
				}
				if err := walk(value, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return walk(root, 0)
}

// pointed is what a reference such as #/$defs/item leads to.
func pointed(root map[string]any, ref string) (any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	path, err := url.PathUnescape(path)
	if !ok || err != nil {
		return nil, false
	}
	var at any = root
	if path == "" {
		return at, true
	}
	path, ok = strings.CutPrefix(path, "/")
	if !ok {
		return nil, false
	}
	for name := range strings.SplitSeq(path, "/") {
		object, isObject := at.(map[string]any)
		if at, ok = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]; !ok || !isObject {
			return nil, false // through a list, too: nobody needs it
		}
	}
	return at, true
}
