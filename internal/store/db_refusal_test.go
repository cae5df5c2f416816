package store

import (
	"path/filepath"
	"testing"

	"myao/test/testserver"
)

// Both databases' refusals have the same reasons.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const table, row = "CREATE TABLE big (x TEXT)", "INSERT INTO big SELECT printf('%.1000000c', 'x')"
	for name, tc := range map[string]struct {
		url        string
		statements []string // the last one fails
		want       string
	}{
		"sqlite full":        {"sqlite:" + filepath.Join(t.TempDir(), "full.db"), []string{table, "PRAGMA max_page_count = 10", row}, refusedFull},
		"sqlite read-only":   {"sqlite:" + filepath.Join(t.TempDir(), "only.db"), []string{table, "PRAGMA query_only = on", row}, refusedReadOnly},
		"sqlite other":       {"sqlite:" + filepath.Join(t.TempDir(), "other.db"), []string{"SELECT nonsense"}, refusedOther},
		"postgres read-only": {testserver.Postgres(t), []string{"SET default_transaction_read_only = on", table}, refusedReadOnly},
		"postgres other":     {testserver.Postgres(t), []string{"SELECT nonsense"}, refusedOther},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, tc.url)
			conn, err := s.pool.Conn(t.Context()) // settings are a connection's
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			for i, statement := range tc.statements {
				_, err := conn.ExecContext(t.Context(), statement)
				if last := i == len(tc.statements)-1; (err != nil) != last {
					t.Fatalf("%s: %v", statement, err)
				}
				if err != nil && refusal(err) != tc.want {
					t.Errorf("%v: %s, want %s", err, refusal(err), tc.want)
				}
			}
		})
	}
}
