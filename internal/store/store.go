// Package store keeps what must not be lost: what was said, what of it has yet to
// reach a conversation's workflow, what the bot means to post, what it decided and
// why, and what it remembers. Postgres and SQLite do the same; one suite of tests
// runs on both.
//
// A message passes through here three times: the door records it with its changes
// (Record), the relay sends the changes on (Take, Relayed, Release), and the
// worker reads it among the Facts and in a Context and writes the reply (the outbox). What was
// missed comes through Remember and Unhandled instead. Later it goes into the memory of its
// thread and channel (Look, ChannelMemoryInput, SaveMemories), which other conversations read
// as far as they may (Knowledge). What people ask about all that, and order, is
// answered, and written down, here (Passed, Usage, Forget, ApplyOrder).
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// ErrNotFound says that there is no such row.
var ErrNotFound = errors.New("not found")

// Store is a database. It is safe for concurrent use, by several processes too.
type Store struct {
	db      *gorm.DB
	pool    *sql.DB // what db works on
	sqlite  string  // the file; empty for Postgres
	now     func() time.Time
	metrics *Metrics
	groups  groups
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.PingContext(ctx); err != nil {
		return fmt.Errorf("reach database: %w", err)
	}
	return nil
}

// Close ends all connections, once what is being recorded has been committed.
func (s *Store) Close() error {
	s.groups.close()
	return s.pool.Close()
}

// locked reads rows that the transaction means to change. SQLite's transactions
// hold the write lock from their beginning.
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

// instantOrZero is the inverse of stamp.
func instantOrZero(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return instant(us)
}

// asyncCommit is a condition that holds, and by which Postgres commits the statement that
// evaluates it without waiting for the disk: if it crashes, the last half second of such
// commits may be lost (postgresql.org/docs/current/wal-async-commit.html). That is for what
// does no harm then: a lease that nobody knows of any more, a change that is sent again,
// which its workflow knows, a call that is not in the account.
func (s *Store) asyncCommit() string {
	if s.sqlite != "" {
		return "TRUE"
	}
	return "set_config('synchronous_commit', 'off', TRUE) = 'off'"
}

func (s *Store) nowMicros() int64 { return micros(s.now()) }
