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

// Postgres returns the URL of a database that is new, empty and the test's own;
// it is dropped at the test's end. It lies in a throw-away cluster which all
// tests of the binary share and which does not sync to disk, or on the server
// that TEST_DATABASE_URL names: in a database of its own there, or where the
// role may not create one, in a schema.
func Postgres(t testing.TB) string {
	t.Helper()
	return database(t, fastCluster)
}

// DurablePostgres is Postgres on a cluster that syncs every commit to disk, for
// tests that kill it or measure it. TEST_DATABASE_URL's server is as it is.
func DurablePostgres(t testing.TB) string {
	t.Helper()
	return database(t, durableCluster)
}

func database(t testing.TB, cluster func() (string, error)) string {
	t.Helper()
	server := os.Getenv("TEST_DATABASE_URL")
	if server == "" {
		var err error
		if server, err = cluster(); err != nil {
			t.Fatal(err)
		}
	}
	db, drop, err := createDatabase(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// createDatabase returns the new database's URL and what drops it again.
func createDatabase(server string) (string, func() error, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", nil, errors.New("TEST_DATABASE_URL is not a URL") // the error would tell the password
	}
	name := "test_" + strings.ToLower(rand.Text())
	err = execute(server, "CREATE DATABASE "+name)
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
