// Package store keeps what must not be lost: messages, the changes that have yet to reach a
// conversation's workflow, replies and their delivery, decisions and their reasons, and memories.
// It runs on Postgres and SQLite, which behave alike: one test suite runs on both.
//
// A message passes through here three times. The door records it with its changes (Record). The
// relay sends the changes to the workflow (Claim, MarkRelayed, Release). The worker reads it in
// Facts and Context and writes the reply to the outbox. Messages whose events were missed come
// through SaveHistory and Unhandled instead.
//
// Later the message becomes part of the memory of its thread and channel (CurrentCursor,
// ChannelMemoryInput, SaveMemories). Other conversations read that as far as they may (Knowledge).
// Operators query and change all of this through ChangesSince, Usage, Forget, ApplyOrder and
// others.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// ErrNotFound is returned when there is no such row.
var ErrNotFound = errors.New("not found")

// Store is a database. It is safe for concurrent use, also by several processes.
type Store struct {
	db      *gorm.DB
	pool    *sql.DB // the connections under db
	sqlite  string  // the file; empty for Postgres
	now     func() time.Time
	metrics *Metrics
	groups  groups
	common  atomic.Pointer[commonTerms] // as last read; nil: never
	// migrations are those of this program, except in tests.
	migrations fs.FS
	// withheld is what Withhold was called with, withholding its fingerprint; empty for none.
	withheld    chat.Withheld
	withholding string
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.PingContext(ctx); err != nil {
		return fmt.Errorf("reach database: %w", err)
	}
	return nil
}

// Close waits until everything that is being recorded has been committed, then closes all
// connections.
func (s *Store) Close() error {
	s.groups.close()
	return s.pool.Close()
}

// locked locks the rows that a query reads, because the transaction means to change them. SQLite
// needs no clause: its transactions hold the write lock from their beginning.
func (s *Store) locked(tx *gorm.DB) *gorm.DB {
	if s.sqlite != "" {
		return tx
	}
	return tx.Clauses(clause.Locking{Strength: "UPDATE"})
}

func micros(t time.Time) int64 { return t.UnixMicro() }

func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }

// microsOrZero is micros, and 0 for the zero time.
func microsOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return micros(t)
}

// instantOrZero is the inverse of microsOrZero.
func instantOrZero(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return instant(us)
}

// asyncCommit is a condition that is always true. In Postgres, evaluating it makes the statement
// commit without waiting for the disk; a crash may lose the last half second of such commits
// (postgresql.org/docs/current/wal-async-commit.html). Use it only where a loss does no harm: a
// lease, the mark of a relayed change (the workflow ignores the repetition), a call's cost.
func (s *Store) asyncCommit() string {
	if s.sqlite != "" {
		return "TRUE"
	}
	return "set_config('synchronous_commit', 'off', TRUE) = 'off'"
}

func (s *Store) nowMicros() int64 { return micros(s.now()) }

// Clean returns a text as both databases take it: Postgres refuses NUL characters and what is not UTF-8.
func Clean(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "") }
