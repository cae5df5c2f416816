package config

import (
	"net/url"
	"strings"
)

// Database says where everything is kept.
type Database struct {
	// URL is sqlite:PATH or postgres://… (postgresql://…). It may hold a
	// password: print Redacted instead.
	URL string `mapstructure:"url"`
}

// SQLitePath returns the file of a sqlite: URL, relative to the working
// directory unless absolute; ok is false for Postgres. The forms with slashes
// that other programs use are understood: sqlite:///var/x.db is /var/x.db.
func (d Database) SQLitePath() (path string, ok bool) {
	path, ok = strings.CutPrefix(d.URL, "sqlite:")
	return strings.TrimPrefix(path, "//"), ok
}

// Redacted returns the URL without its password, its options and whatever else
// could hold one.
func (d Database) Redacted() string { return redactURL(d.URL) }

// String is Redacted, so that a printed Config tells no password.
func (d Database) String() string { return d.Redacted() }

// GoString is Redacted, for %#v.
func (d Database) GoString() string { return d.Redacted() }

// redactURL returns what of a URL may be printed. What cannot be parsed may hide
// a password anywhere, and is hidden whole.
func redactURL(raw string) string {
	if strings.HasPrefix(raw, "sqlite:") {
		return raw
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return hidden
	case u.Scheme == "" || u.Opaque != "":
		if strings.ContainsAny(raw, "@=") {
			return hidden
		}
		return raw
	}
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	u.Fragment, u.RawFragment = "", ""
	return u.Redacted()
}

// urlSecret returns the part of a URL that must not be printed, or "".
func urlSecret(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	password, _ := u.User.Password()
	return password
}
