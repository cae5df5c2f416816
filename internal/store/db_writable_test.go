package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"myao/internal/runtime/timeout"
	"myao/test/testserver"
)

// A lock is waited for; a lasting one is reported in time for a probe, long before SQLite gives up.
func TestWritableWhileLocked(t *testing.T) {
	t.Parallel()
	db := migratedSQLite(t)
	db.pool.SetMaxOpenConns(1)
	must(t, errOf(db.pool.ExecContext(t.Context(), "PRAGMA busy_timeout = 600000")))
	unlock := testserver.LockSQLite(t, db.sqlite)
	began := time.Now()
	err := db.Writable(t.Context())
	for errors.Is(err, context.DeadlineExceeded) { // the machine stood still before it waited
		err = db.Writable(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "write to database: sqlite3: database is locked") {
		t.Errorf("locked: %v", err)
	}
	if took := time.Since(began); took < lockTimeout/2 || took > patience {
		t.Errorf("it waits for %v, want about %v", took, lockTimeout)
	}
	must(t, unlock())
	if err := db.Writable(timeout.Extend(t.Context())); err != nil {
		t.Errorf("not locked any more: %v", err)
	}
	// Its own lock is gone.
	_ = testserver.LockSQLite(t, db.sqlite)()
}

// A connection that now leads to a standby, as after a failover, is dropped: the next write and the
// next check use another.
func TestConnectionsToStandbyAreDropped(t *testing.T) {
	t.Parallel()
	for what, write := range map[string]func(database) error{
		"a statement": func(db database) error {
			return db.SaveChannel(t.Context(), team, Channel{ID: channel, Name: "general"})
		},
		"a transaction": func(db database) error {
			m := said(at(1), "")
			_, err := db.Record(t.Context(), m, keep(m))
			return err
		},
		"Writable": func(db database) error { return db.Writable(t.Context()) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			db := migratedPostgres(t)
			db.pool.SetMaxOpenConns(1)
			must(t, errOf(db.pool.ExecContext(t.Context(), "SET default_transaction_read_only = on")))
			if err := write(db); err == nil || !strings.Contains(err.Error(), "read-only") {
				t.Errorf("on a standby: %v", err)
			}
			if err := write(db); err != nil {
				t.Errorf("where the primary is again: %v", err)
			}
		})
	}
}
