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
	fastCluster    = sync.OnceValues(func() (string, error) { return shareCluster("off") })
	durableCluster = sync.OnceValues(func() (string, error) { return shareCluster("on") })
)

const clusterPrefix = "myao-postgres-"

// shareCluster starts a cluster for all tests of the binary and returns its URL.
func shareCluster(sync string) (string, error) {
	c, err := newCluster(sync)
	if err != nil {
		return "", err
	}
	stopAtEnd(c.remove)
	return c.url(), nil
}

// cluster is a Postgres of our own, in a temporary directory.
type cluster struct {
	dir     string
	bin     programs
	account *syscall.Credential // to run as; nil: our own account
	sync    string              // "on" or "off"
	more    []string            // settings such as "work_mem=8MB"
	port    int
	process *process // nil while it is down
}

// newCluster makes a cluster and returns once it answers.
func newCluster(sync string, settings ...string) (*cluster, error) {
	dir := os.TempDir()
	removeStale(dir)
	c := &cluster{sync: sync, more: settings}
	var err error
	if c.bin, err = postgresPrograms(); err != nil {
		return nil, err
	}
	if c.account, err = unprivileged(); err != nil {
		return nil, err
	}
	if c.dir, err = os.MkdirTemp(dir, clusterPrefix+strconv.Itoa(os.Getpid())+"-"); err != nil {
		return nil, fmt.Errorf("make a directory for Postgres: %w", err)
	}
	err = c.initialise()
	if err == nil {
		err = withFreePort(func(port int) error {
			c.port = port
			return c.start()
		})
	}
	if err != nil {
		_ = os.RemoveAll(c.dir)
		return nil, fmt.Errorf("start Postgres: %w", err)
	}
	return c, nil
}

func (c *cluster) initialise() error {
	if c.account != nil {
		if err := os.Chown(c.dir, int(c.account.Uid), int(c.account.Gid)); err != nil {
			return err
		}
	}
	initdb := c.command(c.bin.initdb, "--pgdata", c.data(), "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--no-locale", "--no-sync", "--no-instructions")
	if said, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w; it said:\n%s", err, said)
	}
	return nil
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *cluster) url() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", c.port)
}

func (c *cluster) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = c.dir
	cmd.Env = append(without("PG"), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.account}
	return cmd
}

// start returns once the server answers.
func (c *cluster) start() error {
	args := []string{"-D", c.data()}
	for _, setting := range append([]string{
		"port=" + strconv.Itoa(c.port),
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=" + c.dir,
		"max_connections=200",
		"timezone=UTC",
		"fsync=" + c.sync,
		"synchronous_commit=" + c.sync,
		"full_page_writes=" + c.sync,
		"autovacuum=" + c.sync, // otherwise plans change while tests look at them
	}, c.more...) {
		args = append(args, "-c", setting)
	}
	// SIGQUIT ends Postgres at once, but still lets it release its shared memory.
	p, err := start(c.command(c.bin.postgres, args...), syscall.SIGQUIT)
	if err != nil {
		return err
	}
	if err := p.await(func(ctx context.Context) error { return postgresReady(ctx, c.url()) }); err != nil {
		p.stop(syscall.SIGQUIT)
		return err
	}
	c.process = p
	return nil
}

// stop returns once the server has ended.
func (c *cluster) stop(signal syscall.Signal) {
	if c.process != nil {
		c.process.stop(signal)
		c.process = nil
	}
}

func (c *cluster) remove() {
	c.stop(syscall.SIGQUIT)
	_ = os.RemoveAll(c.dir)
}

func postgresReady(ctx context.Context, server string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	db, err := sql.Open("pgx", server)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return db.PingContext(ctx)
}

// programs are the paths of Postgres's programs.
type programs struct{ initdb, postgres string }

// postgresPrograms searches PATH, then Debian's directories outside PATH for the newest version.
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

// unprivileged returns the account to run Postgres as, or nil when we are not root.
// Postgres refuses to run as root.
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

// removeStale removes the directories of clusters whose test binary was killed. Their
// servers are gone.
func removeStale(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, clusterPrefix+"*"))
	for _, dir := range dirs {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), clusterPrefix), "-")
		pid, err := strconv.Atoi(owner)
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir)
		}
	}
}
