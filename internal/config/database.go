package config

import (
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Database says where everything is kept.
type Database struct {
	// URL is sqlite:PATH or postgres://… (postgresql://…). It may hold a
	// password: print Redacted instead.
	URL string `yaml:"url"`
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

// databaseURL is the rule for database.url.
func databaseURL(f *faults, key, v string) {
	const allowed = "must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME"
	d := Database{URL: v}
	shown := verbatim(d.Redacted())
	if path, ok := d.SQLitePath(); ok {
		switch {
		case path == "":
			f.add(key, shown, "%s", allowed)
		case strings.HasPrefix(path, ":memory:") || strings.ContainsAny(path, "?\x00"):
			f.add(key, shown, "must name a file, which two programs share, without options")
		}
		return
	}
	u, err := url.Parse(v)
	switch {
	case strings.HasPrefix(v, "postgres") && (strayAt(v) || errors.As(err, new(url.EscapeError))):
		f.add(key, shown, "%s with no @ but the one before HOST: elsewhere, as in a password, @ is %%40, / is %%2F, ? is %%3F, # is %%23, %% is %%25", allowed)
	case err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") || u.Opaque != "":
		f.add(key, shown, "%s", allowed)
	default:
		if why := refused(v); why != "" {
			f.add(key, shown, "%s that can be connected to: %s", allowed, why)
		}
	}
}

// redactURL returns what of a URL may be printed. What cannot be parsed may hide
// a password anywhere, and is hidden whole; so is what has an @ out of its place.
func redactURL(raw string) string {
	if strings.HasPrefix(raw, "sqlite:") {
		return raw
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil, strayAt(raw):
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

// strayAt reports whether a URL has an @ elsewhere than before its host, or more than one.
// Then a part of a password that was not encoded may stand anywhere behind the first one,
// and libpq's rules, which Postgres's driver goes by, differ from net/url's on where.
func strayAt(raw string) bool {
	_, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return false
	}
	before, behind, ok := strings.Cut(rest, "@")
	return ok && (strings.ContainsAny(before, "/?#") || strings.Contains(behind, "@"))
}

// refused returns why Postgres's driver would not connect to a URL whatever answers there,
// or "". It looks at the environment and at the files that the options name, too.
func refused(raw string) string {
	_, err := pgx.ParseConfig(raw)
	if err == nil {
		return ""
	}
	// The driver's own text begins with the URL, of which it hides what it can.
	why, _ := strings.CutPrefix(err.Error(), pgconn.NewParseConfigError(raw, "", nil).Error())
	if unparsed := "failed to parse as URL"; strings.HasPrefix(why, unparsed) {
		why = unparsed // what follows may quote a password that an & has cut in two
	}
	if names := driverVariables(os.Environ()); len(names) > 0 {
		why += " (the environment has " + strings.Join(names, ", ") + ")"
	}
	return why
}

// driverVariables are the names, in their order, of the variables that may be Postgres's.
func driverVariables(environ []string) (names []string) {
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "PG") && value != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
