package testserver

import (
	"database/sql"
	"errors"
	"fmt"
	"syscall"
	"testing"
)

// PostgresServer is a cluster of one test, which may stop, kill, freeze and
// restart it. It syncs every commit to disk.
type PostgresServer struct {
	// URL is of a database in it that is new and empty; the same after a restart.
	URL string

	t       testing.TB
	cluster *cluster
	frozen  []int // process ids; none while it is not frozen
}

// StartPostgres starts a server of the test's own, whatever TEST_DATABASE_URL
// says. It ends with the test. Settings, such as
// "shared_preload_libraries=pg_stat_statements", are Postgres's own. The methods are
// for one goroutine at a time.
func StartPostgres(t testing.TB, settings ...string) *PostgresServer {
	t.Helper()
	c, err := newCluster("on", settings...)
	if err != nil {
		t.Fatal(err)
	}
	s := &PostgresServer{t: t, cluster: c}
	t.Cleanup(func() {
		s.Thaw()
		c.remove()
	})
	s.URL = s.Database()
	return s
}

// Database makes another database, which is empty, and returns its URL.
func (s *PostgresServer) Database() string {
	s.t.Helper()
	db, _, err := createDatabase(s.cluster.url())
	if err != nil {
		s.t.Fatal(err)
	}
	return db
}

// Stop ends the server in order: connections are cut, transactions rolled back.
func (s *PostgresServer) Stop() { s.end(syscall.SIGINT) }

// Kill ends the server at once, as a crash would: what was committed is in its log.
func (s *PostgresServer) Kill() { s.end(syscall.SIGQUIT) }

func (s *PostgresServer) end(signal syscall.Signal) {
	s.Thaw()
	s.cluster.stop(signal)
}

// Restart starts the server again with what it kept, having stopped it first if
// it runs, and returns when it answers.
func (s *PostgresServer) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.cluster.start(); err != nil {
		s.t.Fatalf("restart Postgres: %v", err)
	}
}

// Freeze stops all of the server's processes where they stand: connections stay
// open, and nothing answers. One that is frozen, or down, stays as it is.
func (s *PostgresServer) Freeze() {
	s.t.Helper()
	if s.cluster.process == nil || s.frozen != nil {
		return
	}
	if err := s.freeze(); err != nil {
		s.Thaw()
		s.t.Fatalf("freeze Postgres: %v", err)
	}
}

// Thaw lets a frozen server go on.
func (s *PostgresServer) Thaw() {
	for _, pid := range s.frozen {
		_ = syscall.Kill(pid, syscall.SIGCONT) // one that has ended needs none
	}
	s.frozen = nil
}

// freeze stops the server's first process, which starts all others, then those.
// They are in sessions of their own, so that no signal reaches all of them: the
// server itself tells which they are.
func (s *PostgresServer) freeze() error {
	db, err := sql.Open("pgx", s.cluster.url())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	ctx := s.t.Context()
	conn, err := db.Conn(ctx) // before nobody is let in any more
	if err != nil {
		return err
	}
	stop := func(pid int) error {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop process %d: %w", pid, err)
		}
		s.frozen = append(s.frozen, pid)
		return nil
	}
	if err := stop(s.cluster.process.cmd.Process.Pid); err != nil {
		return err
	}
	rows, err := conn.QueryContext(ctx, "SELECT pid FROM pg_stat_activity ORDER BY pid = pg_backend_pid()")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var pids []int
	for rows.Next() {
		var pid int
		if err := rows.Scan(&pid); err != nil {
			return err
		}
		pids = append(pids, pid)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, pid := range pids { // our own connection's last
		if err := stop(pid); err != nil {
			return err
		}
	}
	return nil
}
