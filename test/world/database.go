package world

import (
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"myao/test/testserver"
)

// DB opens a database on Postgres for the test's own statements, until the test ends.
func DB(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	testserver.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}
