package world

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"myao/test/testserver"
)

// Program is one of the bot's programs.
type Program struct {
	*testserver.Program
	Name string
	// Address is the host:port of /livez, /readyz and /metrics, and a starter's of Slack's requests.
	Address string
	Log     *Log

	world *World
}

// Program returns one more process of a program, starter or worker. It has not been started.
func (w *World) Program(name string) *Program {
	w.t.Helper()
	p := &Program{Name: name, Address: testserver.FreeAddress(w.t), Log: NewLog(w.t, name), world: w}
	p.Program = p.Log.Program(filepath.Join(w.Bin, name))
	return p
}

// Start starts the program with more variables in its environment.
func (p *Program) Start(env ...string) {
	p.world.t.Helper()
	variable := map[string]string{"starter": starterAddress, "worker": workerAddress}[p.Name]
	p.Args = []string{"--config", p.world.Config}
	p.Env = append(append(append([]string(nil), p.world.Env...), variable+"="+p.Address), env...)
	p.Program.Start()
}

// Stop ends the program with SIGTERM. It fails the test unless the program ends well, and in time.
func (p *Program) Stop() {
	p.world.t.Helper()
	if err := p.Program.Stop(); err != nil {
		p.world.t.Errorf("%s ended with %v", p.Name, err)
	}
}

// Ready waits until the program is ready.
func (p *Program) Ready() {
	p.world.t.Helper()
	Await(p.world.t, "the "+p.Name+" to be ready", func() bool {
		status, _ := p.Get("/readyz")
		return status == http.StatusOK
	})
}

// Get returns the status and the body of an answer of the program, or 0 and the error.
func (p *Program) Get(path string) (status int, body string) {
	return Get(p.world.t, "http://"+p.Address+path)
}

// Get returns the status and the body of an answer, or 0 and the error. It waits for an answer no more than a minute.
func Get(t testing.TB, url string) (status int, body string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// Log is what a program has written, a file among the test's artifacts. A test that fails logs its end.
type Log struct {
	t    testing.TB
	file *os.File
}

// NewLog makes a log for a program.
func NewLog(t testing.TB, name string) *Log {
	t.Helper()
	file, err := os.CreateTemp(t.ArtifactDir(), name+"-*.log")
	testserver.Must(t, err)
	l := &Log{t, file}
	t.Cleanup(func() {
		if t.Failed() {
			const most = 60
			lines := strings.Split(strings.TrimSpace(l.String()), "\n")
			t.Logf("%s said:\n%s", name, strings.Join(lines[max(0, len(lines)-most):], "\n"))
		}
		_ = file.Close()
	})
	return l
}

// Program returns a program that writes here. It has not been started, and ends with the test.
func (l *Log) Program(path string, args ...string) *testserver.Program {
	return testserver.NewProgram(l.t, l.file, path, args...)
}

// Has reports whether the program has written a text.
func (l *Log) Has(text string) bool { return strings.Contains(l.String(), text) }

// String returns everything that was written.
func (l *Log) String() string {
	text, err := os.ReadFile(l.file.Name())
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(text)
}
