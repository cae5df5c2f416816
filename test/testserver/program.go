package testserver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Build builds programs of this module, named by their packages, into a directory. They are built as they are
// shipped, without cgo unless the flags have -race, and without debugging information.
func Build(dir string, flags []string, packages ...string) error {
	args := append([]string{"build", "-ldflags=-w", "-o", dir + string(filepath.Separator)}, flags...)
	build := exec.Command("go", append(args, packages...)...)
	if !slices.Contains(flags, "-race") {
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w; it said:\n%s", err, said)
	}
	return nil
}

// Programs builds the worker and the starter as they are shipped, once in a test binary,
// and returns their directory.
var Programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "myao-programs-")
	if err != nil {
		return "", err
	}
	stopAtEnd(func() { _ = os.RemoveAll(dir) })
	return dir, Build(dir, nil, "myao/worker", "myao/starter")
})

// Program is a program that a test can repeatedly start, stop, kill and freeze. Only one
// goroutine at a time may call its methods.
type Program struct {
	// Args and Env, which is added to the test's environment, are for the next start.
	Args, Env []string
	// Prepare changes the command before each start; nil changes nothing.
	Prepare func(*exec.Cmd)

	t       testing.TB
	path    string
	output  io.Writer
	process *process // nil while it is down
	frozen  bool
}

// ErrStopTimeout is what Stop returns for a program that had to be killed.
var ErrStopTimeout = errors.New("did not stop within 30 s")

// NewProgram returns a program that has not been started. It writes to output and is killed
// when the test ends.
func NewProgram(t testing.TB, output io.Writer, path string, args ...string) *Program {
	p := &Program{Args: args, t: t, path: path, output: output}
	t.Cleanup(p.Kill)
	return p
}

// Start starts the program.
func (p *Program) Start() {
	p.t.Helper()
	cmd := exec.Command(p.path, p.Args...)
	cmd.Env = append(os.Environ(), p.Env...)
	if p.Prepare != nil {
		p.Prepare(cmd)
	}
	cmd.Stdout, cmd.Stderr = p.output, p.output
	var err error
	if p.process, err = start(cmd, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
}

// Kill ends the process as kill -9 does.
func (p *Program) Kill() { _ = p.end(syscall.SIGKILL, stopTimeout) }

// Stop sends SIGTERM and returns the process's exit error. After 30 s it kills the process
// and returns ErrStopTimeout.
func (p *Program) Stop() error { return p.end(syscall.SIGTERM, 30*time.Second) }

func (p *Program) end(signal syscall.Signal, within time.Duration) error {
	if p.process == nil {
		return nil
	}
	ending := p.process
	p.process, p.frozen = nil, false
	return ending.end(signal, within)
}

// Freeze suspends the process: it keeps its connections and answers nothing until Thaw.
func (p *Program) Freeze() { p.freeze(syscall.SIGSTOP, true) }

// Thaw resumes a frozen process.
func (p *Program) Thaw() { p.freeze(syscall.SIGCONT, false) }

func (p *Program) freeze(signal syscall.Signal, on bool) {
	if p.process != nil && p.frozen != on {
		_ = p.process.cmd.Process.Signal(signal)
		p.frozen = on
	}
}

// Ended returns a channel that is closed once the process has ended for any reason. It
// returns nil before Start and after Kill or Stop.
func (p *Program) Ended() <-chan struct{} {
	if p.process == nil {
		return nil
	}
	return p.process.done
}

// PID returns the process id, or 0 while the program is down.
func (p *Program) PID() int {
	if p.process == nil {
		return 0
	}
	return p.process.cmd.Process.Pid
}
