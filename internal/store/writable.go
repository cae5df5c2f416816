package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// lockTimeout is how long Writable waits for SQLite's write lock: beyond what our own
// programs hold it for, and well within what a probe has.
const lockTimeout = time.Second

// Writable reports whether the database answers and takes writes; it writes nothing. A
// SQLite file may be locked by another program, and a Postgres a standby.
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
			// The next one may lead elsewhere: see openPostgres.
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
			return errors.New("write to database: it is read-only, as a standby is")
		}
		return nil
	}
	// The wait for the lock, ten seconds by the file's busy_timeout, ends with the context.
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	tx, err := s.pool.BeginTx(ctx, nil) // takes the lock
	if err != nil {
		return fmt.Errorf("write to database: %w", err)
	}
	_ = tx.Rollback() // nothing is lost
	return nil
}
