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
	var address string
	err := withFreePort(func(port int) error {
		p, at, err := startTemporal("", port)
		if err == nil {
			// It holds nothing that would need to be written.
			stopAtEnd(func() { p.stop(syscall.SIGKILL) })
			address = at
		}
		return err
	})
	return address, err
})

// TemporalServer is a dev server of one test, which may stop, kill and restart it.
type TemporalServer struct {
	// Address is host:port, the same after a restart.
	Address string

	t       testing.TB
	dbFile  string
	port    int
	process *process // nil while it is down
}

// StartTemporal starts a dev server that keeps its state in dbFile, listening on
// the port, or on a free one when port is 0. It is killed at the test's end.
// The methods are for the test's own goroutine.
func StartTemporal(t testing.TB, dbFile string, port int) *TemporalServer {
	t.Helper()
	s := &TemporalServer{t: t, dbFile: dbFile, port: port}
	try := func(port int) (err error) {
		s.port = port
		s.process, s.Address, err = startTemporal(dbFile, port)
		return err
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

// Stop ends the server in order, and returns when it has ended.
func (s *TemporalServer) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the server at once, as a power cut would.
func (s *TemporalServer) Kill() { s.end(syscall.SIGKILL) }

// Restart starts the server again with what it kept, having stopped it first if
// it runs, and returns when it is ready.
func (s *TemporalServer) Restart() {
	s.t.Helper()
	s.Stop()
	var err error
	if s.process, _, err = startTemporal(s.dbFile, s.port); err != nil {
		s.t.Fatal(err)
	}
}

func (s *TemporalServer) end(signal syscall.Signal) {
	if s.process != nil {
		s.process.stop(signal)
		s.process = nil
	}
}

// startTemporal returns when the server is ready. It holds its state in memory
// if dbFile is "".
func startTemporal(dbFile string, port int) (*process, string, error) {
	binary, err := temporalBinary()
	if err != nil {
		return nil, "", err
	}
	args := []string{
		"server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", strconv.Itoa(port),
		"--log-level", "error", "--disable-config-file", "--disable-config-env",
	}
	if dbFile != "" {
		args = append(args, "--db-filename", dbFile)
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = without("TEMPORAL_")
	p, err := start(cmd, syscall.SIGKILL)
	if err != nil {
		return nil, "", fmt.Errorf("start the Temporal dev server: %w", err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if err := p.await(func(ctx context.Context) error { return temporalReady(ctx, address) }); err != nil {
		p.stop(syscall.SIGKILL)
		return nil, "", fmt.Errorf("start the Temporal dev server: %w", err)
	}
	return p, address, nil
}

func temporalReady(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	// A connection that waited for a server would also wait long between its tries.
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	_ = conn.Close()
	c, err := client.NewLazyClient(client.Options{HostPort: address})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return err
	}
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: client.DefaultNamespace})
	return err
}

// temporalBinary finds the program that `make temporal` provides.
func temporalBinary() (string, error) {
	if path, err := exec.LookPath("temporal"); err == nil {
		return path, nil
	}
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath(filepath.Join(root, ".bin", "temporal")); err == nil {
		return path, nil
	}
	return "", errors.New("this test needs the Temporal CLI: run `make temporal` once")
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
