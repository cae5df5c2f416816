package testserver

import (
	"database/sql"
	"os"
	"path/filepath"
	"sync"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver" // SQLite
)

// template is made once in a test binary.
type template struct {
	once sync.Once
	data []byte
	err  error
}

func (p *template) get(t testing.TB, fill func() ([]byte, error)) []byte {
	t.Helper()
	p.once.Do(func() { p.data, p.err = fill() })
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.data
}

var sqliteTemplate template

// SQLiteCopy returns the URL of a SQLite database: a copy of the one that fill makes at the first
// call of the binary. fill closes what it opens.
func SQLiteCopy(t testing.TB, fill func(url string) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "myao.db")
	file := sqliteTemplate.get(t, func() ([]byte, error) {
		first := path + "-template"
		if err := fill("sqlite:" + first); err != nil {
			return nil, err
		}
		return os.ReadFile(first)
	})
	Must(t, os.WriteFile(path, file, 0o600))
	return "sqlite:" + path
}

// LockSQLite holds the write lock of a database until unlock is called or the test ends, as
// another slow program would.
func LockSQLite(t testing.TB, path string) (unlock func() error) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(120000)")
	Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.Begin()
	Must(t, err)
	return tx.Rollback
}
