package testserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

var (
	fastCluster    = sync.OnceValues(func() (string, error) { return startCluster("off") })
	durableCluster = sync.OnceValues(func() (string, error) { return startCluster("on") })
)

const clusterPrefix = "myao-postgres-"

// startCluster makes a Postgres cluster in a temporary directory and returns
// its URL when it answers. sync is "on" or "off".
func startCluster(sync string) (string, error) {
	removeStale()
	bin, err := postgresPrograms()
	if err != nil {
		return "", err
	}
	account, err := unprivileged()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", clusterPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", fmt.Errorf("make a directory for Postgres: %w", err)
	}
	server, err := startClusterIn(dir, bin, account, sync)
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("start Postgres: %w", err)
	}
	return server, nil
}

func startClusterIn(dir string, bin programs, account *syscall.Credential, sync string) (string, error) {
	if account != nil {
		if err := os.Chown(dir, int(account.Uid), int(account.Gid)); err != nil {
			return "", err
		}
	}
	command := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		cmd.Env = append(without("PG"), "LC_ALL=C", "TZ=UTC")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account}
		return cmd
	}
	data := filepath.Join(dir, "data")
	initdb := command(bin.initdb, "--pgdata", data, "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--no-locale", "--no-sync", "--no-instructions")
	if said, err := initdb.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w; it said:\n%s", err, said)
	}

	var server string
	err := withFreePort(func(port int) error {
		args := []string{"-D", data}
		for _, setting := range []string{
			"port=" + strconv.Itoa(port),
			"listen_addresses=127.0.0.1",
			"unix_socket_directories=" + dir,
			"max_connections=200",
			"timezone=UTC",
			"fsync=" + sync,
			"synchronous_commit=" + sync,
			"full_page_writes=" + sync,
		} {
			args = append(args, "-c", setting)
		}
		// SIGQUIT ends Postgres at once, but lets it give its shared memory back.
		p, err := start(command(bin.postgres, args...), syscall.SIGQUIT)
		if err != nil {
			return err
		}
		server = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
		if err := p.await(func(ctx context.Context) error { return postgresReady(ctx, server) }); err != nil {
			p.stop(syscall.SIGQUIT)
			return err
		}
		stopAtEnd(func() {
			p.stop(syscall.SIGQUIT)
			_ = os.RemoveAll(dir)
		})
		return nil
	})
	return server, err
}

func postgresReady(ctx context.Context, server string) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	db, err := sql.Open("pgx", server)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return db.PingContext(ctx)
}

// programs are the paths of Postgres's own.
type programs struct{ initdb, postgres string }

// postgresPrograms looks at PATH, and where Debian keeps what it does not put
// on PATH: the newest version there.
func postgresPrograms() (programs, error) {
	initdb, err1 := exec.LookPath("initdb")
	postgres, err2 := exec.LookPath("postgres")
	if err1 == nil && err2 == nil {
		return programs{initdb, postgres}, nil
	}
	var best programs
	bestVersion := -1.0
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	for _, initdb := range found {
		bin := filepath.Dir(initdb)
		version, err := strconv.ParseFloat(filepath.Base(filepath.Dir(bin)), 64)
		if err == nil && version > bestVersion {
			best, bestVersion = programs{initdb, filepath.Join(bin, "postgres")}, version
		}
	}
	if bestVersion < 0 {
		return programs{}, errors.New("this test needs Postgres: install it (Debian: apt-get install postgresql), " +
			"or name a server in TEST_DATABASE_URL")
	}
	return best, nil
}

// unprivileged returns the account to run Postgres as, which refuses to run as
// root; nil when we are not root ourselves.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("start Postgres: it refuses to run as root, and there is no user postgres or nobody")
}

// removeStale removes the clusters of test binaries that were killed before
// they could do so; their servers are gone.
func removeStale() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), clusterPrefix+"*"))
	for _, dir := range dirs {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), clusterPrefix), "-")
		pid, err := strconv.Atoi(owner)
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir)
		}
	}
}
