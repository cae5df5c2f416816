package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations
var migrations embed.FS

// Migrate brings the tables to this program's version. Several programs may do
// so at once: one migrates, the others wait. The names of the migrations that
// this call has applied come back.
func (s *Store) Migrate(ctx context.Context) (applied []string, err error) {
	pool, err := s.db.DB()
	if err != nil {
		return nil, fmt.Errorf("migrate database: %w", err)
	}
	if s.sqlite != "" {
		unlock, err := lockSQLite(ctx, s.sqlite)
		if err != nil {
			return nil, fmt.Errorf("migrate database: %w", err)
		}
		defer func() { err = errors.Join(err, unlock()) }()
		// Two programs that both turn a new file to a write-ahead log do not wait for each
		// other, whatever busy_timeout says: one fails. So it is done under the lock.
		var mode string
		if err := pool.QueryRowContext(ctx, "PRAGMA journal_mode = wal").Scan(&mode); err != nil {
			return nil, fmt.Errorf("migrate database: set up the write-ahead log: %w", err)
		}
		if mode != "wal" {
			return nil, fmt.Errorf("migrate database: %s cannot have a write-ahead log, and stays in mode %s", s.sqlite, mode)
		}
		return up(ctx, goose.DialectSQLite3, "sqlite", pool)
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 600))
	if err != nil {
		return nil, fmt.Errorf("migrate database: %w", err)
	}
	return up(ctx, goose.DialectPostgres, "postgres", pool, goose.WithSessionLocker(locker))
}

func up(ctx context.Context, dialect goose.Dialect, dir string, pool *sql.DB, opts ...goose.ProviderOption) ([]string, error) {
	provider, err := migrator(dialect, dir, pool, opts...)
	if err != nil {
		return nil, fmt.Errorf("migrate database: %w", err)
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate database: %w", err)
	}
	var applied []string
	for _, r := range results {
		applied = append(applied, r.Source.Path)
	}
	return applied, nil
}

func migrator(dialect goose.Dialect, dir string, pool *sql.DB, opts ...goose.ProviderOption) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations/"+dir)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(dialect, pool, files, opts...)
}

// lockSQLite holds a lock beside the database: goose has none for SQLite. The
// lock is that of an exclusive transaction on a file of its own, so it ends with
// the process, however that ends.
func lockSQLite(ctx context.Context, path string) (unlock func() error, err error) {
	db, err := sql.Open("sqlite3", fileURI(path+"-migrate")+"?_pragma=busy_timeout(60000)&_txlock=exclusive")
	if err != nil {
		return nil, fmt.Errorf("lock migrations: %w", err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock migrations: %w", err), db.Close())
	}
	return func() error { return errors.Join(tx.Rollback(), db.Close()) }, nil
}
