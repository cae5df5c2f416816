package testserver

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	// The driver that myao itself uses.
	_ "github.com/jackc/pgx/v5/stdlib"
)

// Postgres returns the URL of a new, empty database for one test, which is dropped when
// the test ends. All tests of the binary share its throw-away cluster, which does not sync
// to disk. With TEST_DATABASE_URL the database is on that server instead. If the role
// may not create a database there, the test gets a schema.
func Postgres(t testing.TB) string {
	t.Helper()
	return database(t, fastCluster)
}

// DurablePostgres is Postgres on a cluster that syncs every commit to disk, for tests that
// kill or measure it. It does not change the settings of TEST_DATABASE_URL's server.
func DurablePostgres(t testing.TB) string {
	t.Helper()
	return database(t, durableCluster)
}

// PostgresInDictionaryOrder is Postgres with a database that compares texts like a dictionary, which ignores
// punctuation. It skips the test if the server was built without ICU or is older than Postgres 15.
func PostgresInDictionaryOrder(t testing.TB) string {
	t.Helper()
	db, drop, err := createDatabase(server(t, fastCluster), "template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'und-u-ka-shifted'")
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		t.Skip(err)
	}
	Must(t, err)
	t.Cleanup(func() { Must(t, drop()) })
	return db
}

func database(t testing.TB, cluster func() (string, error)) string {
	t.Helper()
	return newDatabase(t, server(t, cluster), "template1")
}

// server is the URL of TEST_DATABASE_URL's server, or that of a cluster.
func server(t testing.TB, cluster func() (string, error)) string {
	t.Helper()
	if url := os.Getenv("TEST_DATABASE_URL"); url != "" {
		return url
	}
	url, err := cluster()
	Must(t, err)
	return url
}

var postgresTemplate template

// PostgresCopy is Postgres with a copy of the database that fill makes at the first call of the
// binary: a copy takes a fraction of the time of all migrations. On TEST_DATABASE_URL's server
// fill makes each database.
func PostgresCopy(t testing.TB, fill func(url string) error) string {
	t.Helper()
	if os.Getenv("TEST_DATABASE_URL") != "" {
		db := Postgres(t)
		Must(t, fill(db))
		return db
	}
	server, err := fastCluster()
	Must(t, err)
	name := postgresTemplate.get(t, func() ([]byte, error) {
		db, _, err := createDatabase(server, "template1")
		if err == nil {
			err = fill(db)
		}
		if err != nil {
			return nil, err
		}
		u, err := url.Parse(db)
		return []byte(strings.TrimPrefix(u.Path, "/")), err
	})
	return newDatabase(t, server, string(name))
}

func newDatabase(t testing.TB, server, template string) string {
	t.Helper()
	db, drop, err := createDatabase(server, template)
	Must(t, err)
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// createDatabase returns the URL of a copy of a database and a function that drops it.
func createDatabase(server, template string) (string, func() error, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", nil, errors.New("TEST_DATABASE_URL is not a URL") // err would show the password
	}
	name := "test_" + strings.ToLower(rand.Text())
	err = execute(server, "CREATE DATABASE "+name+" TEMPLATE "+template)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42501" { // insufficient_privilege
		if err := execute(server, "CREATE SCHEMA "+name); err != nil {
			return "", nil, fmt.Errorf("create a test schema: %w", err)
		}
		q := u.Query()
		q.Set("search_path", name)
		u.RawQuery = q.Encode()
		return u.String(), func() error { return execute(server, "DROP SCHEMA "+name+" CASCADE") }, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("create a test database: %w", err)
	}
	u.Path = "/" + name
	return u.String(), func() error { return execute(server, "DROP DATABASE "+name+" WITH (FORCE)") }, nil
}

func execute(server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open("pgx", server)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, statement)
	return err
}
