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

// Temporal returns the host:port of a real Temporal dev server, which all tests
// of the binary share: keep workflow ids and task queues apart. It holds
// everything in memory and has the namespace "default". TEST_TEMPORAL_ADDRESS
// names another server to use instead.
func Temporal(t testing.TB) string {
	t.Helper()
	if address := os.Getenv("TEST_TEMPORAL_ADDRESS"); address != "" {
		return address
	}
	address, err := sharedTemporal()
	if err != nil {
		t.Fatal(err)
	}
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
		// It holds nothing that would need to be written.
		stopAtEnd(s.Kill)
	}
	return s.Address, err
})

// TemporalServer is a server of one test, which may stop, kill and restart it.
type TemporalServer struct {
	// Address is host:port, the same after a restart.
	Address string

	t       testing.TB
	command func() *exec.Cmd
	// found, where there is one, is what a server needs that was just set up.
	found   func(context.Context) error
	process *process // nil while it is down
}

// StartTemporal starts a dev server that keeps its state in dbFile, listening on
// the port, or on a free one when port is 0. It is killed at the test's end.
// flags are passed on to `temporal server start-dev`, as for its dynamic configuration.
// The methods are for one goroutine at a time.
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// dev makes it a dev server, which holds its state in memory if dbFile is "".
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
		cmd.Env = append(without("TEMPORAL_"), "GOGC=400") // a seventh of its processor time
		return cmd
	}
	return nil
}

// Stop ends the server in order, and returns when it has ended.
func (s *TemporalServer) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the server at once, as a power cut would.
func (s *TemporalServer) Kill() { s.end(syscall.SIGKILL) }

// Restart starts the server again with what it kept, having stopped it first if
// it runs, and returns when it is ready.
func (s *TemporalServer) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *TemporalServer) end(signal syscall.Signal) {
	if s.process != nil {
		s.process.stop(signal)
		s.process = nil
	}
}

// start returns when the server is ready.
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
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	// A connection that waited for a server would also wait long between its tries.
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
	if s.found != nil {
		if err := s.found(ctx); err != nil {
			return err
		}
	}
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: client.DefaultNamespace})
	return err
}

// tool finds a program that a target of make provides.
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

// repositoryRoot is where go.mod is: tests run in their package's directory.
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
