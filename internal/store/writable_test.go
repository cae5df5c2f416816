package store

import (
	"strings"
	"testing"
	"time"

	"myao/internal/testserver"
)

func TestWritable(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		if err := db.Writable(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A lock of a moment is waited for, one that stays is told of in time for a probe.
func TestWritableWhileLocked(t *testing.T) {
	t.Parallel()
	db := migrated(t, sqliteURL(t))
	unlock := testserver.LockSQLite(t, db.sqlite)
	began := time.Now()
	if err := db.Writable(t.Context()); err == nil || !strings.Contains(err.Error(), "write to database: sqlite3: database is locked") {
		t.Errorf("locked: %v", err)
	}
	if took := time.Since(began); took < lockWithin/2 || took > 2*lockWithin {
		t.Errorf("it waits for %v, want about %v", took, lockWithin)
	}
	soon := time.AfterFunc(lockWithin/5, func() { _ = unlock() })
	defer soon.Stop()
	if err := db.Writable(t.Context()); err != nil {
		t.Errorf("locked for a moment: %v", err)
	}
	// Nothing of the lock that it had is left.
	_ = testserver.LockSQLite(t, db.sqlite)()
}

func TestWritableOfAStandby(t *testing.T) {
	t.Parallel()
	url := testserver.Postgres(t)
	with := "?"
	if strings.Contains(url, "?") {
		with = "&"
	}
	s := open(t, url+with+"default_transaction_read_only=on")
	if err := s.Writable(t.Context()); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("read-only: %v", err)
	}
}
