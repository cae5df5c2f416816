package config

import (
	"net/url"
	"reflect"
	"strings"
)

// Secret is a value that must never reach a log, an error or a page. Every way of formatting
// it shows only whether it is set. string(s) is the value.
type Secret string

const hidden = "(hidden)"

// String returns "(hidden)", or "" if the secret is not set.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString is String for %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText is String for JSON, YAML and slog.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Secrets returns every secret of the configuration: all values of type Secret, and the
// passwords in addresses, both encoded and decoded. Those of all workspaces are among them.
func (c Config) Secrets() []string {
	var all []string
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			if v.Type() == reflect.TypeFor[Secret]() && v.Len() > 0 {
				all = append(all, v.String())
			} else {
				all = append(all, passwords(v.String())...)
			}
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Struct:
			for field, inner := range v.Fields() {
				if field.IsExported() {
					walk(inner)
				}
			}
		case reflect.Map:
			for _, inner := range v.Seq2() {
				walk(inner)
			}
		case reflect.Slice:
			for _, inner := range v.Seq2() {
				walk(inner)
			}
		}
	}
	walk(reflect.ValueOf(c.Global()))
	return all
}

// passwords returns the password of an address, encoded and decoded. Other texts have none.
func passwords(text string) []string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return nil
	}
	var all []string
	if password, set := u.User.Password(); set && password != "" {
		_, written, _ := strings.Cut(u.User.String(), ":")
		all = append(all, password)
		if written != password {
			all = append(all, written)
		}
	}
	return all
}

// isSecret reports whether values of a type are secrets.
func isSecret(t reflect.Type) bool {
	return t == reflect.TypeFor[Secret]() || t.Kind() == reflect.Map && isSecret(t.Elem())
}

// holdsSecret reports whether a value of the wrong type, found where t was expected, must not
// be printed. Somebody may have put a secret in the place of its section.
func holdsSecret(t reflect.Type) bool {
	if t.Kind() == reflect.Struct {
		for _, field := range fields(t) {
			if holdsSecret(field.Type) {
				return true
			}
		}
	}
	return isSecret(t) || t == reflect.TypeFor[Database]()
}
