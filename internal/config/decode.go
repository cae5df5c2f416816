package config

import (
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-viper/mapstructure/v2"
)

const (
	tagName = "mapstructure"
	notAKey = "-" // the tag of a field that no file has
)

// decode lays the tree over what target, a pointer to a struct, already holds.
// A value of the wrong type is a fault, never a conversion; so is a key that
// the struct does not have. What is right beside it is decoded all the same, so
// that its values can be looked at, too.
func decode(tree map[string]any, target any, f *faults) {
	tree = known(tree, reflect.TypeOf(target).Elem(), "", f)
	dec, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result:      target,
		TagName:     tagName,
		ErrorUnused: true,
		MatchName:   func(inFile, inStruct string) bool { return inFile == inStruct },
		DecodeHook:  strict,
	})
	if err != nil {
		f.add("", "", "%s", err.Error())
		return
	}
	// mapstructure leaves out a whole channel for one wrong value in it.
	if err := dec.Decode(tree); err != nil {
		for _, path := range wrongTypes(err, f) {
			remove(tree, path)
		}
		wrongTypes(dec.Decode(tree), f)
	}
}

// known returns the tree without the keys that t does not have, having told them.
func known(tree map[string]any, t reflect.Type, key string, f *faults) map[string]any {
	out := map[string]any{}
	fields := fieldsOf(t)
	for name, v := range tree {
		field, ok := fields[name]
		if t.Kind() == reflect.Map {
			field, ok = t.Elem(), true
		}
		if !ok {
			f.add(join(key, name), "", "is not a known key%s", hint(name, fields))
			continue
		}
		if m, isMap := v.(map[string]any); isMap && (field.Kind() == reflect.Struct || field.Kind() == reflect.Map) {
			v = known(m, field, join(key, name), f)
		}
		out[name] = v
	}
	return out
}

// fieldsOf returns the keys of a struct and their types; none of anything else.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	if t.Kind() == reflect.Struct {
		for field := range t.Fields() {
			if key := field.Tag.Get(tagName); key != notAKey {
				fields[key] = field.Type
			}
		}
	}
	return fields
}

// hint names the key that may have been meant: one of the same mapping that is
// spelt alike, or else the place where the very name belongs.
func hint(name string, siblings map[string]reflect.Type) string {
	best, bestDistance := "", max(len(name)/3, 2)+1
	for _, sibling := range slices.Sorted(maps.Keys(siblings)) {
		d := distance(strings.ToLower(name), sibling)
		if strings.HasPrefix(sibling, name+"_") || strings.HasSuffix(sibling, "_"+name) {
			d = 1
		}
		if d < bestDistance {
			best, bestDistance = sibling, d
		}
	}
	if best == "" {
		best = elsewhere(name, reflect.TypeFor[Config](), "")
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

func elsewhere(name string, t reflect.Type, key string) string {
	for field := range t.Fields() {
		path := join(key, field.Tag.Get(tagName))
		if field.Tag.Get(tagName) == name && name != notAKey {
			return path
		}
		if field.Type.Kind() == reflect.Struct && field.Tag.Get(tagName) != notAKey {
			if found := elsewhere(name, field.Type, path); found != "" {
				return found
			}
		}
	}
	return ""
}

// distance is Levenshtein's: how many letters to change, add or leave out.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// wrongType is what strict says of a value.
type wrongType struct {
	value any
	want  string
}

func (w wrongType) Error() string { return "must be " + w.want }

// strict passes a value on only if it has its target's type, or is the text of
// a variable that reads as one.
func strict(from, to reflect.Value) (any, error) {
	v := from.Interface()
	text, isVariable := v.(expanded)
	trimmed := strings.TrimSpace(string(text))
	switch to.Kind() {
	case reflect.String:
		switch v := v.(type) {
		case expanded:
			return unspaced(string(text), to), nil
		case string:
			return unspaced(v, to), nil
		case map[string]any, []any:
			return nil, wrongType{v, "text"}
		}
		return nil, wrongType{v, "text; put it in quotes"}
	case reflect.Int:
		if n, err := strconv.Atoi(trimmed); isVariable && err == nil {
			return n, nil
		}
		switch from.Kind() {
		case reflect.Int, reflect.Int64:
			return v, nil
		case reflect.Float64: // such as 1e3
			if x := from.Float(); x == math.Trunc(x) && math.Abs(x) < 1<<53 {
				return int(x), nil
			}
		}
		return nil, wrongType{v, "a whole number"}
	case reflect.Float64:
		if x, err := strconv.ParseFloat(trimmed, 64); isVariable && err == nil {
			return x, nil
		}
		switch from.Kind() {
		case reflect.Int, reflect.Int64, reflect.Float64:
			return v, nil
		}
		return nil, wrongType{v, "a number"}
	case reflect.Bool:
		if b, err := strconv.ParseBool(trimmed); isVariable && err == nil {
			return b, nil
		}
		if from.Kind() == reflect.Bool {
			return v, nil
		}
		return nil, wrongType{v, "true or false"}
	case reflect.Slice:
		list, ok := v.([]any)
		if !ok || slices.Contains(list, nil) {
			return nil, wrongType{v, "a list of texts"}
		}
	case reflect.Struct, reflect.Map:
		if from.Kind() != reflect.Map && from.Kind() != reflect.Struct {
			return nil, wrongType{v, "a mapping of keys to values"}
		}
	}
	return v, nil
}

// unspaced returns a text as its target wants it: a secret without the space around it,
// such as the end of the line of the file that it was copied from.
func unspaced(s string, to reflect.Value) string {
	if to.Type() == reflect.TypeFor[Secret]() {
		return strings.TrimSpace(s)
	}
	return s
}

// wrongTypes tells the faults inside mapstructure's tree of errors, and returns
// where they are.
func wrongTypes(err error, f *faults) (paths [][]string) {
	switch e := err.(type) {
	case nil:
		return nil
	case *mapstructure.DecodeError:
		path := pathOf(e.Name())
		key, value := dotted(path), ""
		if wrong, ok := e.Unwrap().(wrongType); ok {
			value = f.show(wrong.value)
		}
		if isSecret(key) {
			value = hidden
		}
		f.add(key, value, "%s", e.Unwrap().Error())
		return [][]string{path}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			paths = append(paths, wrongTypes(one, f)...)
		}
		return paths
	}
	if inner := errors.Unwrap(err); inner != nil {
		return wrongTypes(inner, f)
	}
	f.add("", "", "%s", err.Error())
	return nil
}

// pathOf takes mapstructure's channels[C1].mode apart.
func pathOf(name string) []string {
	open, end := strings.Index(name, "["), strings.LastIndex(name, "]")
	if open < 0 || end < open {
		return strings.Split(name, ".")
	}
	path := append(strings.Split(name[:open], "."), name[open+1:end])
	if rest := strings.TrimPrefix(name[end+1:], "."); rest != "" {
		path = append(path, strings.Split(rest, ".")...)
	}
	return path
}

// dotted writes a path as a key; an item of a list as slack.operators[0].
func dotted(path []string) string {
	key, t := "", reflect.TypeFor[Config]()
	for _, name := range path {
		switch {
		case t != nil && t.Kind() == reflect.Slice:
			key, t = key+"["+name+"]", t.Elem()
		case t != nil && t.Kind() == reflect.Map:
			key, t = join(key, name), t.Elem()
		case t != nil:
			key, t = join(key, name), fieldsOf(t)[name]
		default:
			key = join(key, name)
		}
	}
	return key
}

func remove(tree map[string]any, path []string) {
	last := len(path) - 1
	if m, ok := at(tree, path[:last]...).(map[string]any); ok {
		delete(m, path[last])
	}
}

// isSecret reports whether the value of a key must not be printed. Of a
// mapping it says so, too, since somebody may have put the secret in its place.
func isSecret(key string) bool {
	switch key {
	case "slack", "llm", "llm.gemini", "llm.openai", "database", "database.url", "encryption", "encryption.keys":
		return true
	}
	if strings.HasPrefix(key, "encryption.keys.") {
		return true
	}
	t := reflect.TypeFor[Config]()
	for name := range strings.SplitSeq(key, ".") {
		t = fieldsOf(t)[name]
		if t == nil {
			return false
		}
	}
	return t == reflect.TypeFor[Secret]()
}
