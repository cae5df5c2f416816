// Package storetest gives tests of other packages a database.
package storetest

import (
	"path/filepath"
	"testing"

	"myao/internal/store"
)

// Open makes a SQLite database with its tables. It is closed with the test's end.
func Open(t testing.TB) *store.Store {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "myao.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}
