package testserver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Build builds programs of this module, named by their packages, into a directory, without
// what only a debugger needs.
func Build(dir string, flags []string, packages ...string) error {
	args := append([]string{"build", "-ldflags=-w", "-o", dir + string(filepath.Separator)}, flags...)
	if said, err := exec.Command("go", append(args, packages...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w; it said:\n%s", err, said)
	}
	return nil
}

// Programs builds the worker and the starter, as they are shipped, when a test of the
// binary first asks for them, and returns the directory where they are.
var Programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "myao-programs-")
	if err != nil {
		return "", err
	}
	stopAtEnd(func() { _ = os.RemoveAll(dir) })
	return dir, Build(dir, nil, "myao/worker", "myao/starter")
})

// Program is a program as a process, which a test starts, stops, kills and
// freezes, again and again. Its methods are for one goroutine at a time.
type Program struct {
	// Env is added to the test's own environment at the next start.
	Env []string

	t       testing.TB
	path    string
	args    []string
	output  io.Writer
	process *process // nil while it is down
	frozen  bool
}

// ErrStopTimeout is what Stop returns for a program that had to be killed.
var ErrStopTimeout = errors.New("did not stop within 30 s")

// NewProgram is a program that has not been started. It writes what it says to
// output, and is killed at the test's end.
func NewProgram(t testing.TB, output io.Writer, path string, args ...string) *Program {
	p := &Program{t: t, path: path, args: args, output: output}
	t.Cleanup(p.Kill)
	return p
}

// Start starts the program.
func (p *Program) Start() {
	p.t.Helper()
	cmd := exec.Command(p.path, p.args...)
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.Stdout, cmd.Stderr = p.output, p.output
	var err error
	if p.process, err = start(cmd, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
}

// Kill ends the process as kill -9 does.
func (p *Program) Kill() { _ = p.end(syscall.SIGKILL, stopTimeout) }

// Stop ends the process as an operator does, and returns how it ended. What has
// not ended within 30 s is killed: ErrStopTimeout.
func (p *Program) Stop() error { return p.end(syscall.SIGTERM, 30*time.Second) }

func (p *Program) end(signal syscall.Signal, within time.Duration) error {
	if p.process == nil {
		return nil
	}
	ending := p.process
	p.process, p.frozen = nil, false
	return ending.end(signal, within)
}

// Freeze stops the process where it stands: it keeps its connections and answers
// nothing. Thaw lets it go on.
func (p *Program) Freeze() { p.freeze(syscall.SIGSTOP, true) }

// Thaw lets a frozen process go on.
func (p *Program) Thaw() { p.freeze(syscall.SIGCONT, false) }

func (p *Program) freeze(signal syscall.Signal, on bool) {
	if p.process != nil && p.frozen != on {
		_ = p.process.cmd.Process.Signal(signal)
		p.frozen = on
	}
}

// Ended is closed when the process has ended, whoever ended it; nil while the
// program is down by our hand.
func (p *Program) Ended() <-chan struct{} {
	if p.process == nil {
		return nil
	}
	return p.process.done
}

// PID is the process id; 0 while the program is down.
func (p *Program) PID() int {
	if p.process == nil {
		return 0
	}
	return p.process.cmd.Process.Pid
}
