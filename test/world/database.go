package world

import (
	"database/sql"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/ncruces/go-sqlite3/driver" // SQLite

	"myao/test/testserver"
)

// DB opens a database for the test's own statements, until the test ends.
func DB(t testing.TB, url string) *sql.DB {
	t.Helper()
	driver := "pgx"
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		driver, url = "sqlite3", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, url)
	testserver.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}
