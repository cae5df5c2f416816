package store

import (
	"slices"
	"testing"

	"github.com/pressly/goose/v3"

	"myao/test/testserver"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		version(t, sqliteURL(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		version(t, testserver.Postgres(t))
	})
}

func version(t *testing.T, url string) {
	t.Helper()
	s := open(t, url)
	all := withLater(t, s)
	check := func(when string, applied, pending []string, unknown ...int64) {
		t.Helper()
		v, err := s.Version(t.Context())
		if err != nil || !slices.Equal(v.Applied, applied) || !slices.Equal(v.Pending, pending) || !slices.Equal(v.Unknown, unknown) {
			t.Errorf("%s: %+v, %v; want applied %v, pending %v, unknown %v", when, v, err, applied, pending, unknown)
		}
	}
	exec := func(statement string, values ...any) {
		t.Helper()
		must(t, s.db.WithContext(t.Context()).Exec(statement, values...).Error)
	}
	check("without tables", nil, all)
	if s.db.Migrator().HasTable(goose.DefaultTablename) {
		t.Error("Version has made a table")
	}
	must(t, errOf(s.Migrate(t.Context())))
	check("migrated", all, nil)
	exec("INSERT INTO "+goose.DefaultTablename+" (version_id, is_applied) VALUES (?, ?), (?, ?)", 9998, true, 9999, true)
	check("migrated by a newer program", all, nil, 9998, 9999)
	exec("DELETE FROM " + goose.DefaultTablename + " WHERE version_id = (SELECT MAX(version_id) FROM " + goose.DefaultTablename + " WHERE version_id < 9000)")
	check("with one to go", all[:len(all)-1], all[len(all)-1:], 9998, 9999)
}
