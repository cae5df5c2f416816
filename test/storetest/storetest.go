// Package storetest gives tests of other packages a database.
package storetest

import (
	"context"
	"errors"
	"testing"

	"myao/internal/runtime/timeout"
	"myao/internal/store"
	"myao/test/testserver"
)

// Open opens a SQLite database with its tables. It is closed with the test's end.
func Open(t testing.TB) *store.Store {
	t.Helper()
	return OpenURL(t, SQLite(t))
}

// OpenURL opens a database, and makes its tables if it has none. It is closed with the test's end.
func OpenURL(t testing.TB, url string) *store.Store {
	t.Helper()
	db, err := store.Open(timeout.Extend(t.Context()), url) // the machine may stand still while a lock is held
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// SQLite returns the URL of a SQLite database with its tables.
func SQLite(t testing.TB) string {
	t.Helper()
	return testserver.SQLiteCopy(t, migrate)
}

// Postgres returns the URL of a Postgres database with its tables.
func Postgres(t testing.TB) string {
	t.Helper()
	return testserver.PostgresCopy(t, migrate)
}

func migrate(url string) error {
	db, err := store.Open(timeout.Extend(context.Background()), url)
	if err != nil {
		return err
	}
	_, err = db.Migrate(context.Background())
	return errors.Join(err, db.Close())
}
