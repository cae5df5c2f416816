package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/ext/fts5"
	"github.com/ncruces/go-sqlite3/gormlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"myao/internal/runtime/timeout"
)

// Open connects to sqlite:PATH or postgres://…. The database must exist; Migrate creates its
// tables. A missing directory of a SQLite file is created.
func Open(ctx context.Context, url string) (*Store, error) {
	s := &Store{now: time.Now, migrations: embeddedMigrations()}
	// while one waits for the disk, the next one writes
	s.groups.commit, s.groups.interval, s.groups.concurrency = s.commit, groupInterval, 2
	var dialector gorm.Dialector
	var err error
	conns, location := maxConns, "postgres" // location is for error messages: without the password
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		path = strings.TrimPrefix(path, "//")
		if s.pool, err = openSQLite(ctx, path); err != nil {
			return nil, err
		}
		s.sqlite, location, s.groups.concurrency = path, url, 1 // SQLite has one writer
		dialector = gormlite.OpenDB(s.pool)
	} else {
		if s.pool, conns, err = openPostgres(url); err != nil {
			return nil, fmt.Errorf("open database %s: %w", location, err)
		}
		dialector = postgres.New(postgres.Config{Conn: s.pool})
	}
	s.db, err = gorm.Open(dialector, &gorm.Config{
		// gorm's logger prints the values of a slow or failed statement, which are people's
		// messages.
		Logger:                 logger.Discard,
		TranslateError:         true,
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true,
		QueryFields:            true, // see returningAll
	})
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", location, err)
	}
	s.pool.SetMaxOpenConns(conns)
	// A new connection costs Postgres a process and us a handshake, so a burst keeps all of them.
	s.pool.SetMaxIdleConns(conns)
	s.pool.SetConnMaxIdleTime(5 * time.Minute)
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(err, s.pool.Close())
	}
	return s, nil
}

const (
	// maxConns is the most connections that a store opens, unless the URL says otherwise with
	// pool_max_conns (the name that pgx's own pool uses). Each connection costs Postgres a process,
	// and both sides the planning of every statement.
	maxConns = 8
	// minConns is the fewest connections that a store can work with: migrations hold three.
	minConns = 4
)

// openPostgres makes a pool for Postgres without connecting yet. conns is its upper limit.
func openPostgres(url string) (pool *sql.DB, conns int, err error) {
	c, err := parsePostgres(url)
	if err != nil {
		return nil, 0, err
	}
	conns = maxConns
	if value, ok := c.RuntimeParams[poolMaxConns]; ok {
		if conns, err = strconv.Atoi(value); err != nil || conns < minConns {
			return nil, 0, fmt.Errorf("%s is %q: want a number, at least %d", poolMaxConns, value, minConns)
		}
	}
	// The password file and the client certificate may have changed since the last connection.
	renew := func(_ context.Context, c *pgx.ConnConfig) error {
		renewed, err := parsePostgres(url)
		if err == nil {
			*c = *renewed
			delete(c.RuntimeParams, poolMaxConns) // Postgres does not know this parameter
		}
		return err
	}
	return stdlib.OpenDB(*c, stdlib.OptionBeforeConnect(renew), stdlib.OptionAfterConnect(useGenericPlans)), conns, nil
}

const poolMaxConns = "pool_max_conns"

// parsePostgres reads a URL, together with the environment variables and files that the driver
// reads.
func parsePostgres(url string) (*pgx.ConnConfig, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		// The driver's text contains the URL, and parts of a password that it did not recognise as
		// one.
		return nil, errors.New("invalid URL, or invalid PG* environment variables")
	}
	// After a failover a connection may lead to a standby, which answers queries and refuses every
	// write. Close it: the next connection is made to the current primary.
	keep := c.OnPgError
	c.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		return err.Code != readOnlyTransaction && keep(conn, err)
	}
	return c, nil
}

// readOnlyTransaction is Postgres's error code for a write that a read-only server refuses
// (postgresql.org/docs/current/errcodes-appendix.html).
const readOnlyTransaction = "25006"

// useGenericPlans makes Postgres plan each statement once per connection, whatever the values. The
// tests check those plans. By default Postgres plans the first five executions anew, which takes
// longer than running them, and may continue to do so. It also compiles large statements (JIT),
// which takes longer than running ours. This is a SET rather than a connection parameter, because a
// pooler may refuse parameters that it does not know.
func useGenericPlans(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, "SET plan_cache_mode = force_generic_plan; SET jit = off")
	return err
}

// busyTimeout is how long a statement waits for the write lock of a SQLite file.
const busyTimeout = 10 * time.Second

// openSQLite sets what a file shared by two processes needs. A writer waits for the other one. A
// transaction takes the write lock at its beginning, because later it could not wait for it. A
// commit returns after the disk was synced. Each connection has full-text search. The write-ahead log is a setting of
// the file, made by Migrate.
func openSQLite(ctx context.Context, path string) (*sql.DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	// The log contains messages, too. By default the driver would make it readable for everybody.
	db, err := driver.Open(fileURI(path)+
		fmt.Sprintf("?_pragma=busy_timeout(%d)", timeout.Of(ctx, busyTimeout).Milliseconds())+
		"&_pragma=synchronous(full)&_txlock=immediate&modeof="+
		strings.ReplaceAll(url.QueryEscape(path), "+", "%20"), fts5.Register)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	return db, nil
}

// fileURI is a file's name as a SQLite URI, to which a query can be added (sqlite.org/uri.html).
// Clean leaves one leading slash; with two, SQLite would read a host name.
func fileURI(path string) string {
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").
		Replace(filepath.ToSlash(filepath.Clean(path)))
}

// createPrivate creates a file that only its owner may read, because it will contain messages. An
// existing file stays as it is.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	return f.Close()
}
