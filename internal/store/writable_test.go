package store

import (
	"database/sql"
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
	other, err := sql.Open("sqlite3", fileURI(db.sqlite)+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	lock, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := db.Writable(t.Context()); err == nil || !strings.Contains(err.Error(), "write to database: sqlite3: database is locked") {
		t.Errorf("locked: %v", err)
	}
	if took := time.Since(began); took < lockWithin/2 || took > 2*lockWithin {
		t.Errorf("it waits for %v, want about %v", took, lockWithin)
	}
	soon := time.AfterFunc(lockWithin/5, func() { _ = lock.Rollback() })
	defer soon.Stop()
	if err := db.Writable(t.Context()); err != nil {
		t.Errorf("locked for a moment: %v", err)
	}
	// Nothing of the lock that it had is left.
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = tx.Rollback()
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
