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

// Database is the access to the database.
type Database struct {
	// URL is sqlite:PATH or postgres://… (postgresql://…). It may contain a password: print
	// Redacted instead.
	URL string `yaml:"url"`
	// Migrate says who brings the tables up to date: MigrateAuto or MigrateCheck.
	Migrate string `yaml:"migrate"`
}

const (
	// MigrateAuto has each program migrate the database when it starts.
	MigrateAuto = "auto"
	// MigrateCheck has programs end where a migration is pending: starter migrate applies it.
	MigrateCheck = "check"
)

// SQLitePath returns the file of a sqlite: URL; ok is false for Postgres. A relative path is
// relative to the working directory. As in other programs, sqlite:///var/x.db is /var/x.db.
func (d Database) SQLitePath() (path string, ok bool) {
	path, ok = strings.CutPrefix(d.URL, "sqlite:")
	return strings.TrimPrefix(path, "//"), ok
}

// Redacted returns the URL without its password and without anything else that may contain one,
// such as options.
func (d Database) Redacted() string { return redactURL(d.URL) }

// String is Redacted, so a printed Config shows no password.
func (d Database) String() string { return d.Redacted() }

// GoString is Redacted for %#v.
func (d Database) GoString() string { return d.Redacted() }

// databaseURL is the rule of database.url.
func databaseURL(f *faults, key, v string) {
	const allowed = "must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME"
	d := Database{URL: v}
	shown := verbatim(d.Redacted())
	if path, ok := d.SQLitePath(); ok {
		switch {
		case path == "":
			f.add(key, shown, "%s", allowed)
		case strings.HasPrefix(path, ":memory:") || strings.ContainsAny(path, "?\x00"):
			f.add(key, shown, "must name a file, without options, because two programs share it")
		}
		return
	}
	u, err := url.Parse(v)
	switch {
	case strings.HasPrefix(v, "postgres") && (misplacedAt(v) || errors.As(err, new(url.EscapeError))):
		f.add(key, shown, "%s with one @, before HOST; elsewhere, such as in a password, write %%40 for @, %%2F for "+
			"/, %%3F for ?, %%23 for #, %%25 for %%", allowed)
	case err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") || u.Opaque != "":
		f.add(key, shown, "%s", allowed)
	default:
		if why := driverError(v); why != "" {
			f.add(key, shown, "%s; the database driver refuses this one: %s", allowed, why)
		}
	}
}

// redactURL returns the part of a URL that may be printed. A URL that cannot be parsed, or has an @
// in the wrong place, may have its password anywhere, so it is hidden entirely.
func redactURL(raw string) string {
	if strings.HasPrefix(raw, "sqlite:") {
		return raw
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil, misplacedAt(raw):
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

// misplacedAt reports whether a URL has more than one @, or one that is not before its host. Then
// part of an unencoded password may be anywhere after the first @: the driver splits the URL by
// libpq's rules, which differ from net/url's.
func misplacedAt(raw string) bool {
	_, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return false
	}
	before, behind, ok := strings.Cut(rest, "@")
	return ok && (strings.ContainsAny(before, "/?#") || strings.Contains(behind, "@"))
}

// driverError returns why the Postgres driver refuses a URL before it connects, or "". The driver
// also reads the environment and the files that the options name.
func driverError(raw string) string {
	_, err := pgx.ParseConfig(raw)
	if err == nil {
		return ""
	}
	// The driver's text begins with the URL, which it redacts only in part.
	why, _ := strings.CutPrefix(err.Error(), pgconn.NewParseConfigError(raw, "", nil).Error())
	if unparsed := "failed to parse as URL"; strings.HasPrefix(why, unparsed) {
		why = unparsed // the rest may quote a part of a password that contains an &
	}
	if names := driverVariables(os.Environ()); len(names) > 0 {
		why += " (the environment has " + strings.Join(names, ", ") + ")"
	}
	return why
}

// driverVariables returns the sorted names of the variables that the Postgres driver may read.
func driverVariables(environ []string) (names []string) {
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "PG") && value != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
