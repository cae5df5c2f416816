package testserver

import (
	"database/sql"
	"errors"
	"fmt"
	"syscall"
	"testing"
)

// PostgresServer is the cluster of one test, which may stop, kill, freeze and restart it.
// It syncs every commit to disk.
type PostgresServer struct {
	// URL names a new, empty database in the cluster. It stays the same after a restart.
	URL string

	t       testing.TB
	cluster *cluster
	frozen  []int // process ids; empty while it runs
}

// StartPostgres starts a server for one test, regardless of TEST_DATABASE_URL. The server
// ends with the test. settings are Postgres's, such as
// "shared_preload_libraries=pg_stat_statements". Only one goroutine at a time may call the
// methods.
func StartPostgres(t testing.TB, settings ...string) *PostgresServer {
	t.Helper()
	c, err := newCluster("on", settings...)
	Must(t, err)
	s := &PostgresServer{t: t, cluster: c}
	t.Cleanup(func() {
		s.Thaw()
		c.remove()
	})
	s.URL = s.Database()
	return s
}

// Database makes another empty database and returns its URL.
func (s *PostgresServer) Database() string {
	s.t.Helper()
	db, _, err := createDatabase(s.cluster.url(), "template1")
	Must(s.t, err)
	return db
}

// Stop shuts the server down: it closes connections and rolls transactions back.
func (s *PostgresServer) Stop() { s.end(syscall.SIGINT) }

// Kill ends the server at once, as a crash would. Committed data is in its log.
func (s *PostgresServer) Kill() { s.end(syscall.SIGQUIT) }

func (s *PostgresServer) end(signal syscall.Signal) {
	s.Thaw()
	s.cluster.stop(signal)
}

// Restart starts the server again with its data and returns once it answers. A running
// server is stopped first.
func (s *PostgresServer) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.cluster.start(); err != nil {
		s.t.Fatalf("restart Postgres: %v", err)
	}
}

// Freeze suspends all of the server's processes: connections stay open, and nothing
// answers. It does nothing to a server that is frozen or down.
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

// Thaw resumes a frozen server.
func (s *PostgresServer) Thaw() {
	for _, pid := range s.frozen {
		_ = syscall.Kill(pid, syscall.SIGCONT) // fails if the process has ended
	}
	s.frozen = nil
}

// freeze suspends the server's first process, which starts all others, and then those.
// Each has its own session, so no signal reaches them all; pg_stat_activity lists them.
func (s *PostgresServer) freeze() error {
	db, err := sql.Open("pgx", s.cluster.url())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	ctx := s.t.Context()
	conn, err := db.Conn(ctx) // once the first process is suspended, no connection is accepted
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
	for _, pid := range pids { // our own connection's process is last
		if err := stop(pid); err != nil {
			return err
		}
	}
	return nil
}
