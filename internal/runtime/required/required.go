// Package required finds what the assembly of a program has left out. A struct that is filled in by whoever uses it
// passes through Fields before its first use, so that a missing part is named at once and not found by the first event
// that needs it.
package required

import (
	"fmt"
	"reflect"
)

// Fields returns a struct whose parts are all there. It panics with the name of the first exported field that is a nil
// pointer, interface or function. A field with the tag `nil:"ok"` may be nil; its comment says what that means. Other
// kinds of fields are not looked at, because their zero values mean something.
func Fields[T any](of *T) *T {
	v := reflect.ValueOf(of).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() || field.Tag.Get("nil") == "ok" {
			continue
		}
		switch field.Type.Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Func:
			if v.Field(i).IsNil() {
				panic(fmt.Sprintf("%s: field %s is required", v.Type(), field.Name))
			}
		}
	}
	return of
}
