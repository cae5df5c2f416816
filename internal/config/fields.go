package config

import (
	"iter"
	"reflect"
	"slices"
)

// keyOf returns a field's key in the file; ok is false for a field that is not in the file.
func keyOf(field reflect.StructField) (key string, ok bool) {
	key = field.Tag.Get("yaml")
	return key, key != "-"
}

// fields yields the fields of a section by their keys. The keys of an embedded section are its own.
func fields(section reflect.Type) iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for _, field := range reflect.VisibleFields(section) {
			if key, ok := keyOf(field); ok && !yield(key, field) {
				return
			}
		}
	}
}

// fieldOf returns the field of a struct by its key; it is invalid if there is none.
func fieldOf(v reflect.Value, key string) reflect.Value {
	for k, field := range fields(v.Type()) {
		if k == key {
			return v.FieldByIndex(field.Index)
		}
	}
	return reflect.Value{}
}

// keysOf returns the keys of a section in alphabetical order.
func keysOf(section reflect.Type) (keys []string) {
	for key := range fields(section) {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
