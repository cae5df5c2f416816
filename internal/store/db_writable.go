package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"myao/internal/runtime/timeout"
)

// lockTimeout is how long Writable waits for SQLite's write lock: longer than our own programs hold
// it, and well within a probe's time.
const lockTimeout = time.Second

// Writable returns an error if the database does not answer or takes no writes, such as a locked
// SQLite file or a Postgres standby. It writes nothing.
func (s *Store) Writable(ctx context.Context) error {
	if s.sqlite == "" {
		conn, err := s.pool.Conn(ctx)
		if err != nil {
			return fmt.Errorf("reach database: %w", err)
		}
		defer func() { _ = conn.Close() }()
		var readOnly string
		if err := conn.QueryRowContext(ctx, "SHOW transaction_read_only").Scan(&readOnly); err != nil {
			return fmt.Errorf("reach database: %w", err)
		}
		if readOnly == "on" {
			// Drop this connection; the next one may lead to the primary (see parsePostgres).
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
			return errors.New("write to database: it is read-only, like a standby")
		}
		return nil
	}
	// The context ends the wait for the lock, which busy_timeout alone would let last ten seconds.
	ctx, cancel := timeout.After(ctx, lockTimeout)
	defer cancel()
	tx, err := s.pool.BeginTx(ctx, nil) // takes the lock
	if err != nil {
		return fmt.Errorf("write to database: %w", err)
	}
	_ = tx.Rollback() // nothing is lost
	return nil
}

// Roomy returns an error if the disk of a Postgres has no room for a few more pages, by Full. What it writes
// is temporary, and rolled back. Of SQLite it knows nothing: see the file's disk.
func (s *Store) Roomy(ctx context.Context) error {
	if s.sqlite != "" {
		return nil
	}
	tx, err := s.pool.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("reach database: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx,
		"CREATE TEMPORARY TABLE room AS SELECT repeat('x', 1000) FROM generate_series(1, 100)"); err != nil {
		return fmt.Errorf("write to database: %w", err)
	}
	return nil
}
