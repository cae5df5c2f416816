package config

// Secret is a value that must never reach a log, an error or a page. However it
// is formatted, it shows only whether it is set; string(s) is its value.
type Secret string

const hidden = "(hidden)"

// String returns "(hidden)", or "" when nothing is set.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString is String, for %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText is String, for JSON, YAML and slog.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
