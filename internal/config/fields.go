package config

import (
	"reflect"
	"slices"
)

// keyOf returns a field's key in the file; ok is false for a field that is not in the file.
func keyOf(field reflect.StructField) (key string, ok bool) {
	key = field.Tag.Get("yaml")
	return key, key != "-"
}

// fieldOf returns the field of a struct by its key; it is invalid if there is none.
func fieldOf(v reflect.Value, key string) reflect.Value {
	for field, value := range v.Fields() {
		if k, ok := keyOf(field); ok && k == key {
			return value
		}
	}
	return reflect.Value{}
}

// keysOf returns the keys of a section in alphabetical order.
func keysOf(section reflect.Type) (keys []string) {
	for field := range section.Fields() {
		if key, ok := keyOf(field); ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
