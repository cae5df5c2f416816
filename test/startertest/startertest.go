// Package startertest runs starters for tests: the test binary itself is the program.
package startertest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"myao/sandbox/workspace"
	"myao/test/testserver"
)

// Variable is set in a process that is to be a starter.
const Variable = "MYAO_TEST_MAIN"

// IsProcess reports whether this process is to be a starter, as a test binary's TestMain must ask first.
func IsProcess() bool { return os.Getenv(Variable) != "" }

// Nowhere is an address where nothing listens.
const Nowhere = "127.0.0.1:1"

// Process is a running starter.
type Process struct {
	t *testing.T
	// Address is where it serves HTTP; empty unless Start has started it.
	Address string
	Cmd     *exec.Cmd
	// Stopped receives how it ended.
	Stopped chan error
	Log     *Log
}

// Log keeps what programs write.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns all that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Workspace returns a Slack, and the address of its API. It delivers an event again until somebody takes it.
func Workspace(t *testing.T) (*workspace.Workspace, string) {
	t.Helper()
	w := workspace.New(workspace.Config{BotToken: "xoxb-1", AppToken: "xapp-1", SigningSecret: "shh", Logger: slog.New(slog.DiscardHandler),
		AckTimeout: time.Minute, RetryAfter: slices.Repeat([]time.Duration{100 * time.Millisecond}, 3000)})
	t.Cleanup(w.Close)
	server := httptest.NewServer(w.Handler())
	t.Cleanup(server.Close)
	return w, server.URL + "/api/"
}

// Configuration writes a configuration, and returns its path.
func Configuration(t *testing.T, address, database, slackAPI, appToken string) string {
	t.Helper()
	text := fmt.Sprintf(`
slack: {bot_token: xoxb-1, signing_secret: shh, app_token: %q, api_url: %q}
server: {address: %q}
database: {url: %q}
agents:
  response: {provider: demo}
  judgment: {provider: demo}
  memory: {provider: demo}
`, appToken, slackAPI, address, database)
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// SQLite returns the URL of a database that does not exist yet.
func SQLite(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "myao.db") }

// StartProcess starts the test binary as a starter in an empty directory, and ends it with the test. Its TestMain
// heeds IsProcess.
func StartProcess(t *testing.T, env []string, args ...string) *Process {
	t.Helper()
	w := &Process{t: t, Cmd: exec.Command(os.Args[0], args...), Stopped: make(chan error, 1), Log: &Log{}}
	w.Cmd.Dir = t.TempDir()
	w.Cmd.Env = append(append(os.Environ(), Variable+"=1"), env...)
	w.Cmd.Stdout, w.Cmd.Stderr = w.Log, w.Log
	if err := w.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { w.Stopped <- w.Cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = w.Cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("the starter said\n%s", w.Log)
		}
	})
	return w
}

// Start runs a starter, and returns when it listens.
func Start(t *testing.T, temporalAddress, database, slackAPI, appToken string) *Process {
	t.Helper()
	address := testserver.FreeAddress(t)
	w := StartProcess(t, []string{"TEMPORAL_ADDRESS=" + temporalAddress}, "--config", Configuration(t, address, database, slackAPI, appToken))
	w.Address = address
	w.Await("the starter to listen", func() bool {
		status, _ := w.Get("/livez")
		return status == http.StatusOK
	})
	return w
}

// Await waits for a condition, three minutes at most.
func (w *Process) Await(what string, done func() bool) {
	w.t.Helper()
	Await(w.t, what, done)
}

// Await waits for a condition, three minutes at most.
func Await(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// Get returns the status and the body of an answer.
func (w *Process) Get(path string) (int, string) { return w.Do(http.MethodGet, path) }

// Do is Get with another method.
func (w *Process) Do(method, path string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.Address+path, http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Error(err)
	}
	return resp.StatusCode, string(body)
}

// Missing returns what /readyz reports as missing: the first word of each line.
func (w *Process) Missing() []string {
	_, names := w.Readiness()
	return names
}

// Readiness returns the status of /readyz, and what that reports as missing. A check has three seconds, so ask again
// before it counts.
func (w *Process) Readiness() (status int, missing []string) {
	status, body := w.Get("/readyz")
	if status == http.StatusOK {
		return status, nil
	}
	var names []string
	for _, line := range strings.Split(strings.TrimSpace(body), "\n") {
		name, why, _ := strings.Cut(line, ": ")
		if why == "" {
			name = "no reason: " + line
		}
		names = append(names, name)
	}
	return status, names
}

// Stop ends the starter with the signal of an operator.
func (w *Process) Stop() {
	w.t.Helper()
	if err := w.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	if err := <-w.Stopped; err != nil {
		w.t.Errorf("ended with %v", err)
	}
}

var discard = slog.New(slog.DiscardHandler)

// Client returns a client of Temporal for a namespace.
func Client(t *testing.T, namespace string) client.Client {
	t.Helper()
	c, err := client.NewLazyClient(client.Options{HostPort: testserver.Temporal(t), Namespace: namespace, Logger: discard,
		ConnectionOptions: testserver.PatientCalls()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Namespace creates a namespace for the test.
func Namespace(t *testing.T) string {
	t.Helper()
	admin, err := client.NewNamespaceClient(client.Options{HostPort: testserver.Temporal(t), Logger: discard,
		ConnectionOptions: testserver.PatientCalls()})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	name := "starter-" + strings.ToLower(rand.Text())
	if err := admin.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	c := Client(t, name)
	Await(t, "the namespace", func() bool {
		_, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{})
		return err == nil
	})
	return name
}
