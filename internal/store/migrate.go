package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations
var migrations embed.FS

// Progress is told what bringing the tables up to date is at. Either may be nil.
type Progress struct {
	// Waiting is called when another program has held the lock for a while.
	Waiting func()
	// Applying is called before each migration, with the names of those that are still to
	// be applied, this one first.
	Applying func(left []string)
}

// waitingNoticeAfter is how long a lock is waited for without a word.
const waitingNoticeAfter = 2 * time.Second

// Migrate brings the tables to this program's version. Several programs may do
// so at once: one migrates, the others wait. The names of the migrations that
// this call has applied come back.
func (s *Store) Migrate(ctx context.Context) (applied []string, err error) {
	return s.MigrateWithProgress(ctx, Progress{})
}

// MigrateWithProgress is Migrate that tells of its progress.
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
		// Two programs that both turn a new file to a write-ahead log do not wait for each
		// other, whatever busy_timeout says: one fails. So it is done under the lock.
		var mode string
		if err := s.pool.QueryRowContext(ctx, "PRAGMA journal_mode = wal").Scan(&mode); err != nil {
			return nil, fmt.Errorf("set up the write-ahead log: %w", err)
		}
		if mode != "wal" {
			return nil, fmt.Errorf("%s cannot have a write-ahead log, and stays in mode %s", s.sqlite, mode)
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

// notifyWaiting has Waiting called unless what it returns is called soon; after that it is called no more.
func (p Progress) notifyWaiting() (over func()) {
	if p.Waiting == nil {
		return func() {}
	}
	told := make(chan struct{})
	timer := time.AfterFunc(waitingNoticeAfter, func() {
		defer close(told)
		p.Waiting()
	})
	return func() {
		if !timer.Stop() {
			<-told
		}
	}
}

// lockInterval is how often a lock is tried for that another program holds.
const lockInterval = time.Second

// lockPostgres holds goose's own lock, for longer than goose would: for all migrations. It
// holds it by a transaction, not as goose does by a session: a pooler that gives each
// transaction a connection of its own (PgBouncer's transaction mode) would leave a session's
// lock on one of its connections, and unlock another.
func lockPostgres(ctx context.Context, pool *sql.DB) (unlock func() error, err error) {
	for {
		tx, err := pool.BeginTx(ctx, nil)
		if err != nil {
			return nil, fmt.Errorf("lock migrations: %w", err)
		}
		var locked bool
		// A server that ends transactions in which nothing is done would end this one's lock.
		const query = "SELECT pg_try_advisory_xact_lock($1) FROM set_config('idle_in_transaction_session_timeout', '0', TRUE)"
		if err := tx.QueryRowContext(ctx, query, lock.DefaultLockID).Scan(&locked); err != nil {
			return nil, errors.Join(fmt.Errorf("lock migrations: %w", err), tx.Rollback())
		}
		if locked {
			return tx.Commit, nil
		}
		if err := tx.Rollback(); err != nil {
			return nil, fmt.Errorf("lock migrations: %w", err)
		}
		select {
		case <-time.After(lockInterval):
		case <-ctx.Done():
			return nil, fmt.Errorf("lock migrations: %w", ctx.Err())
		}
	}
}

// migrator applies the migrations of the store's kind of database.
func (s *Store) migrator() (*goose.Provider, error) {
	if s.sqlite != "" {
		return migrator(goose.DialectSQLite3, "sqlite", s.pool)
	}
	return migrator(goose.DialectPostgres, "postgres", s.pool)
}

func migrator(dialect goose.Dialect, dir string, pool *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations/"+dir)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(dialect, pool, files)
}

// lockSQLite holds a lock beside the database: goose has none for SQLite. The
// lock is that of an exclusive transaction on a file of its own, so it ends with
// the process, however that ends.
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
