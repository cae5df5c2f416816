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
	"github.com/ncruces/go-sqlite3/gormlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Open connects to sqlite:PATH or postgres://…; the database must be there, its
// tables need not (Migrate makes them). SQLite's directory is made if it is missing.
func Open(ctx context.Context, url string) (*Store, error) {
	s := &Store{now: time.Now}
	s.groups.commit, s.groups.interval, s.groups.concurrency = s.commit, groupInterval, 2 // while one waits for the disk, the next one writes
	var dialector gorm.Dialector
	var err error
	conns, location := maxConns, "postgres" // as errors name it: without its password
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		path = strings.TrimPrefix(path, "//")
		if s.pool, err = openSQLite(path); err != nil {
			return nil, err
		}
		s.sqlite, location, s.groups.concurrency = path, url, 1 // one writes at a time
		dialector = gormlite.OpenDB(s.pool)
	} else {
		if s.pool, conns, err = openPostgres(url); err != nil {
			return nil, fmt.Errorf("open database %s: %w", location, err)
		}
		dialector = postgres.New(postgres.Config{Conn: s.pool})
	}
	s.db, err = gorm.Open(dialector, &gorm.Config{
		// gorm's logger prints the values of a slow or failed statement: what people said.
		Logger:                 logger.Discard,
		TranslateError:         true,
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true,
		QueryFields:            true, // see returning
	})
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", location, err)
	}
	s.pool.SetMaxOpenConns(conns)
	// A connection costs Postgres a process and us a handshake: in a burst all are kept.
	s.pool.SetMaxIdleConns(conns)
	s.pool.SetConnMaxIdleTime(5 * time.Minute)
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(err, s.pool.Close())
	}
	return s, nil
}

const (
	// maxConns is how many connections a store opens at most, unless pool_max_conns of the URL,
	// as pgx's own pool calls it, says otherwise. Each costs Postgres a process, and both sides the
	// planning of every statement.
	maxConns = 8
	// minConns is with how few it does: the migrations hold three.
	minConns = 4
)

// openPostgres makes a pool of connections to a Postgres, of which there are none yet and shall
// be conns at most.
func openPostgres(url string) (pool *sql.DB, conns int, err error) {
	c, err := parsePostgres(url)
	if err != nil {
		return nil, 0, err
	}
	conns = maxConns
	if said, ok := c.RuntimeParams[poolMaxConns]; ok {
		if conns, err = strconv.Atoi(said); err != nil || conns < minConns {
			return nil, 0, fmt.Errorf("%s is %q; it has to be a number, %d or more", poolMaxConns, said, minConns)
		}
	}
	// A password's file and a client's certificate may have been renewed since the last one.
	renew := func(_ context.Context, c *pgx.ConnConfig) error {
		renewed, err := parsePostgres(url)
		if err == nil {
			*c = *renewed
			delete(c.RuntimeParams, poolMaxConns) // Postgres knows none
		}
		return err
	}
	return stdlib.OpenDB(*c, stdlib.OptionBeforeConnect(renew), stdlib.OptionAfterConnect(useGenericPlans)), conns, nil
}

const poolMaxConns = "pool_max_conns"

// parsePostgres reads a URL, and the environment and the files that the driver heeds with it.
func parsePostgres(url string) (*pgx.ConnConfig, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		// Its text holds the URL, and parts of a password that it does not take for one.
		return nil, errors.New("the URL, with the options of the environment, cannot be used")
	}
	// After a failover a connection may lead to what is a standby now, where it answers for
	// ever and writes nothing: the next one is made to who is the primary then.
	keep := c.OnPgError
	c.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		return err.Code != readOnlyTransaction && keep(conn, err)
	}
	return c, nil
}

// readOnlyTransaction is what Postgres says of a write where there are none
// (postgresql.org/docs/current/errcodes-appendix.html).
const readOnlyTransaction = "25006"

// useGenericPlans has Postgres plan a statement once for a connection, whatever its values: those
// are the plans that the tests look at. By itself it would plan each anew for its first five
// values, which takes longer than to carry it out, and may do so for ever. It is not a
// parameter of the connection: a pooler may refuse those that it has not been told of.
func useGenericPlans(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, "SET plan_cache_mode = force_generic_plan")
	return err
}

// openSQLite sets what a file shared by two processes needs: a wait for the other
// writer, write locks taken at the beginning of a transaction (a lock taken later
// cannot wait), and a commit that is on the disk when it returns. The write-ahead
// log is the file's own setting, and Migrate's business.
func openSQLite(path string) (*sql.DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	// The log, too, holds what people said: by itself the driver would make it readable for everybody.
	db, err := driver.Open(fileURI(path) +
		"?_pragma=busy_timeout(10000)&_pragma=synchronous(full)&_txlock=immediate&modeof=" + strings.ReplaceAll(url.QueryEscape(path), "+", "%20"))
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	return db, nil
}

// fileURI names a file as SQLite wants it, to which a query can be added
// (sqlite.org/uri.html). Of several leading slashes the first two would name a host.
func fileURI(path string) string {
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(filepath.Clean(path)))
}

// createPrivate makes a file that nobody else on the machine may read, unless it is
// there: it will hold what people said.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	return f.Close()
}
