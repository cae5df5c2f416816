package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"myao/internal/runtime/pause"
)

// Progress receives what a migration is doing. Either function may be nil.
type Progress struct {
	// Waiting is called when another program has held the lock for waitingNoticeAfter.
	Waiting func()
	// Applying is called before each migration with the names of the remaining ones, this one
	// first.
	Applying func(left []string)
}

// waitingNoticeAfter is how long Migrate waits for the lock before it says so.
const waitingNoticeAfter = 2 * time.Second

// Migrate brings the tables to this program's version and returns the names of the migrations that
// it applied. Several programs may call it at once: one migrates, the others wait.
func (s *Store) Migrate(ctx context.Context) (applied []string, err error) {
	return s.MigrateWithProgress(ctx, Progress{})
}

// MigrateWithProgress is Migrate with reports of its progress.
func (s *Store) MigrateWithProgress(ctx context.Context, p Progress) (applied []string, err error) {
	applied, err = s.migrate(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("migrate database: %w", err)
	}
	return applied, nil
}

func (s *Store) migrate(ctx context.Context, p Progress) (applied []string, err error) {
	lock := func() (func() error, error) { return lockPostgres(ctx, s.pool) }
	if s.sqlite != "" {
		lock = func() (func() error, error) { return lockSQLite(ctx, s.sqlite) }
	}
	locked := p.notifyWaiting()
	unlock, err := lock()
	locked()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if s.sqlite != "" {
		// If two programs switch a new file to a write-ahead log at once, one fails: busy_timeout
		// does not apply here. So switch it under the lock.
		var mode string
		if err := s.pool.QueryRowContext(ctx, "PRAGMA journal_mode = wal").Scan(&mode); err != nil {
			return nil, fmt.Errorf("set up the write-ahead log: %w", err)
		}
		if mode != "wal" {
			return nil, fmt.Errorf("switch %s to a write-ahead log: it stays in mode %s", s.sqlite, mode)
		}
	}
	provider, err := s.migrator()
	if err != nil {
		return nil, err
	}
	v, err := s.Version(ctx)
	if err != nil {
		return nil, err
	}
	if len(v.Applied) == 0 {
		if err := s.CheckSchema(ctx); err != nil {
			return nil, err
		}
	}
	for {
		if left := v.Pending[min(len(applied), len(v.Pending)):]; len(left) > 0 && p.Applying != nil {
			p.Applying(left)
		}
		result, err := provider.UpByOne(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return applied, nil
		}
		if err != nil {
			return nil, err
		}
		applied = append(applied, result.Source.Path)
	}
}

// notifyWaiting calls Waiting later, unless the function that it returns is called before. After
// that function has returned, Waiting is no longer called.
func (p Progress) notifyWaiting() (over func()) {
	if p.Waiting == nil {
		return func() {}
	}
	called := make(chan struct{})
	timer := time.AfterFunc(waitingNoticeAfter, func() {
		defer close(called)
		p.Waiting()
	})
	return func() {
		if !timer.Stop() {
			<-called
		}
	}
}

// lockInterval is how often Migrate tries to get a lock that another program holds.
const lockInterval = time.Second

// lockPostgres holds goose's own lock for all migrations together; goose would release it between
// them. The lock belongs to a transaction. goose ties it to a session, but a pooler in transaction
// mode (PgBouncer) would take the session's lock on one connection and release it on another.
func lockPostgres(ctx context.Context, pool *sql.DB) (unlock func() error, err error) {
	for {
		tx, err := pool.BeginTx(ctx, nil)
		if err != nil {
			return nil, fmt.Errorf("lock migrations: %w", err)
		}
		var locked bool
		err = tx.QueryRowContext(ctx, "SELECT pg_try_advisory_xact_lock($1)", lock.DefaultLockID).Scan(&locked)
		if err == nil {
			// A server may end idle transactions, and the lock with them; the setting prevents that. As
			// the last statement it also leaves no snapshot open, for which CREATE INDEX CONCURRENTLY
			// would wait; a query does.
			_, err = tx.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0")
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock migrations: %w", err), tx.Rollback())
		}
		if locked {
			return tx.Commit, nil
		}
		if err := tx.Rollback(); err != nil {
			return nil, fmt.Errorf("lock migrations: %w", err)
		}
		if !pause.For(ctx, lockInterval) {
			return nil, fmt.Errorf("lock migrations: %w", ctx.Err())
		}
	}
}

// migrator applies the migrations in the words of the store's kind of database.
func (s *Store) migrator() (*goose.Provider, error) {
	if s.sqlite != "" {
		return goose.NewProvider(goose.DialectSQLite3, s.pool, rendered{s.migrations, "sqlite", sqliteWords})
	}
	return goose.NewProvider(goose.DialectPostgres, s.pool, rendered{s.migrations, "postgres", postgresWords})
}

// lockSQLite holds a lock next to the database, since goose has none for SQLite. The lock is an
// exclusive transaction on a file of its own, so it ends with the process, even after a crash.
func lockSQLite(ctx context.Context, path string) (unlock func() error, err error) {
	db, err := sql.Open("sqlite3", fileURI(path+"-migrate")+"?_pragma=busy_timeout(600000)&_txlock=exclusive")
	if err != nil {
		return nil, fmt.Errorf("lock migrations: %w", err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock migrations: %w", err), db.Close())
	}
	return func() error { return errors.Join(tx.Rollback(), db.Close()) }, nil
}
