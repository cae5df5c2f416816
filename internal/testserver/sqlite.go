package testserver

import (
	"database/sql"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver" // SQLite
)

// LockSQLite holds the write lock of a database until unlock is called or the test ends, as
// another slow program would.
func LockSQLite(t testing.TB, path string) (unlock func() error) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return tx.Rollback
}
