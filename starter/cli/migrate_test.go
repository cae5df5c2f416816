package cli

import (
	"bytes"
	"database/sql"
	"os"
	"strings"
	"testing"

	"myao/internal/store"
	"myao/test/startertest"
	"myao/test/testserver"
)

// runWith returns a function that runs the starter with a configuration, and wants a status and a text.
func runWith(t *testing.T, file string) func(want int, says string, args ...string) {
	return func(want int, says string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if status := run(t.Context(), append([]string{"--config", file}, args...), &out, &out); status != want || !strings.Contains(out.String(), says) {
			t.Fatalf("%q: status %d, want %d, and %q in it:\n%s", args, status, want, says, &out)
		}
	}
}

// With database.migrate: check a program leaves the tables alone and says what to do. starter migrate
// brings them up to date.
func TestMigrate(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(*testing.T) string{
		"sqlite":   startertest.SQLite,
		"postgres": func(t *testing.T) string { return testserver.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := url(t)
			file := startertest.Configuration(t, "127.0.0.1:0", url, "http://"+startertest.Nowhere+"/api/", "")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = bytes.Replace(text, []byte("database: {"), []byte("database: {migrate: check, "), 1)
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			starter := runWith(t, file)
			starter(1, "run starter migrate first", "serve")
			db, err := store.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if v, err := db.Version(t.Context()); err != nil || len(v.Applied) > 0 {
				t.Errorf("it has applied %q, %v", v.Applied, err)
			}
			starter(0, "the database is up to date", "migrate")
			starter(0, "migrations applied: 0", "migrate")
			if v, err := db.Version(t.Context()); err != nil || len(v.Pending) > 0 {
				t.Errorf("pending are %q, %v", v.Pending, err)
			}
		})
	}
}

// A database of a version before the first release is refused, in one sentence that says what to do.
func TestOldTables(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(*testing.T) string{
		"sqlite":   startertest.SQLite,
		"postgres": func(t *testing.T) string { return testserver.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := url(t)
			driver, source := "pgx", url
			if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
				driver, source = "sqlite3", "file:"+path
			}
			db, err := sql.Open(driver, source)
			testserver.Must(t, err)
			defer func() { _ = db.Close() }()
			for _, statement := range []string{
				"CREATE TABLE goose_db_version (version_id BIGINT, is_applied BOOLEAN)", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (46, TRUE)",
			} {
				testserver.Must(t, testserver.ErrOf(db.ExecContext(t.Context(), statement)))
			}
			starter := runWith(t, startertest.Configuration(t, "127.0.0.1:0", url, "http://"+startertest.Nowhere+"/api/", ""))
			for _, command := range []string{"serve", "migrate", "doctor", "usage"} {
				starter(1, "the database's tables are from before the first release, and nothing after revision 636b1535 can bring them up to date: "+
					"expected tables of this version, or none; set database.url to an empty database, or keep to that revision", command)
			}
		})
	}
}
