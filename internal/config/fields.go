package config

import (
	"reflect"
	"slices"
	"strings"
)

// keyOf returns the key that a field has in the file; ok is false for a field that no file has.
func keyOf(field reflect.StructField) (key string, ok bool) {
	key = field.Tag.Get("yaml")
	return key, key != "-"
}

// fieldOf returns the field of a struct that has the key; it is invalid if there is none.
func fieldOf(v reflect.Value, key string) reflect.Value {
	for field, value := range v.Fields() {
		if k, ok := keyOf(field); ok && k == key {
			return value
		}
	}
	return reflect.Value{}
}

// isSecret reports whether the type's texts are secrets.
func isSecret(t reflect.Type) bool {
	return t == reflect.TypeFor[Secret]() || t.Kind() == reflect.Map && isSecret(t.Elem())
}

// holdsSecret reports whether a value that has the wrong type for t must not be printed: t is
// a secret, or a section with one, since somebody may have put the secret in its place.
func holdsSecret(t reflect.Type) bool {
	if t.Kind() == reflect.Struct {
		for field := range t.Fields() {
			if _, ok := keyOf(field); ok && holdsSecret(field.Type) {
				return true
			}
		}
	}
	return isSecret(t) || t == reflect.TypeFor[Database]()
}

// hint names the key that may have been meant: one of the same section that is spelt alike,
// or else the place where the very name belongs.
func hint(name string, section reflect.Type) string {
	best, bestDistance := "", max(len(name)/3, 2)+1
	for _, key := range keysOf(section) {
		d := distance(strings.ToLower(name), key)
		if strings.HasPrefix(key, name+"_") || strings.HasSuffix(key, "_"+name) {
			d = 1
		}
		if d < bestDistance {
			best, bestDistance = key, d
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

// keysOf returns the keys of a section in the order of the alphabet.
func keysOf(section reflect.Type) (keys []string) {
	for field := range section.Fields() {
		if key, ok := keyOf(field); ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// elsewhere returns the dotted key of the first field below a section that has the name.
func elsewhere(name string, section reflect.Type, at string) string {
	for field := range section.Fields() {
		key, ok := keyOf(field)
		switch path := join(at, key); {
		case !ok:
		case key == name:
			return path
		case field.Type.Kind() == reflect.Struct:
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
