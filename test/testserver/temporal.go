package testserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Temporal returns the host:port of a real Temporal dev server that all tests of the binary
// share, so workflow ids and task queues must be unique. It keeps its state in memory and
// has the namespace "default". TEST_TEMPORAL_ADDRESS names another server to use instead.
func Temporal(t testing.TB) string {
	t.Helper()
	if address := os.Getenv("TEST_TEMPORAL_ADDRESS"); address != "" {
		return address
	}
	address, err := sharedTemporal()
	Must(t, err)
	return address
}

var sharedTemporal = sync.OnceValues(func() (string, error) {
	s := &TemporalServer{}
	err := withFreePort(func(port int) error {
		if err := s.dev("", port); err != nil {
			return err
		}
		return s.start()
	})
	if err == nil {
		stopAtEnd(s.Kill) // its state is in memory, so there is nothing to save
	}
	return s.Address, err
})

// TemporalServer is the server of one test, which may stop, kill and restart it.
type TemporalServer struct {
	// Address is host:port and stays the same after a restart.
	Address string

	t       testing.TB
	command func() *exec.Cmd
	// prepare, if not nil, sets up a new server. It must be idempotent.
	prepare func(context.Context) error
	process *process // nil while it is down
}

// StartTemporal starts a dev server that keeps its state in dbFile. It listens on the port,
// or on a free one if port is 0, and is killed when the test ends. flags go to
// `temporal server start-dev`, for its dynamic configuration for example. Only one
// goroutine at a time may call the methods.
func StartTemporal(t testing.TB, dbFile string, port int, flags ...string) *TemporalServer {
	t.Helper()
	s := &TemporalServer{t: t}
	try := func(port int) error {
		if err := s.dev(dbFile, port, flags...); err != nil {
			return err
		}
		return s.start()
	}
	var err error
	if port == 0 {
		err = withFreePort(try)
	} else {
		err = try(port)
	}
	Must(t, err)
	t.Cleanup(s.Kill)
	return s
}

// dev makes it a dev server, which keeps its state in memory if dbFile is empty.
func (s *TemporalServer) dev(dbFile string, port int, flags ...string) error {
	binary, err := tool("temporal", "temporal")
	if err != nil {
		return err
	}
	args := []string{
		"server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", strconv.Itoa(port),
		"--log-level", "error", "--disable-config-file", "--disable-config-env",
	}
	if dbFile != "" {
		args = append(args, "--db-filename", dbFile)
	}
	args = append(args, flags...)
	s.Address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s.command = func() *exec.Cmd {
		cmd := exec.Command(binary, args...)
		cmd.Env = append(without("TEMPORAL_"), "GOGC=400") // saves a seventh of its processor time
		return cmd
	}
	return nil
}

// Stop sends SIGTERM and returns once the server has ended.
func (s *TemporalServer) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the server at once, as a power cut would.
func (s *TemporalServer) Kill() { s.end(syscall.SIGKILL) }

// Restart starts the server again with its state and returns once it is ready. A running
// server is stopped first.
func (s *TemporalServer) Restart() {
	s.t.Helper()
	s.Stop()
	Must(s.t, s.start())
}

func (s *TemporalServer) end(signal syscall.Signal) {
	if s.process != nil {
		s.process.stop(signal)
		s.process = nil
	}
}

// start returns once the server is ready.
func (s *TemporalServer) start() error {
	p, err := start(s.command(), syscall.SIGKILL)
	if err != nil {
		return fmt.Errorf("start the Temporal server: %w", err)
	}
	err = p.await(func(ctx context.Context) error { return s.ready(ctx) })
	if err != nil {
		p.stop(syscall.SIGKILL)
		return fmt.Errorf("start the Temporal server: %w", err)
	}
	s.process = p
	return nil
}

func (s *TemporalServer) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	// Dial first: a gRPC connection that waits for its server backs off for long.
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return err
	}
	_ = conn.Close()
	c, err := client.NewLazyClient(client.Options{HostPort: s.Address})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return err
	}
	if s.prepare != nil {
		if err := s.prepare(ctx); err != nil {
			return err
		}
	}
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: client.DefaultNamespace})
	return err
}

// tool finds a program in PATH or .bin. target is the make target that installs it.
func tool(name, target string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath(filepath.Join(root, ".bin", name)); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("this test needs %s: run `make %s` once", name, target)
}

// repositoryRoot returns the directory of go.mod, at or above the working directory.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return "", fmt.Errorf("find the repository's root: %w", err)
		}
		dir = parent
	}
}
