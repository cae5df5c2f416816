package testserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"myao/internal/runtime/freeport"
	"myao/internal/runtime/group"
)

const (
	startTimeout = 3 * time.Minute  // two busy cores, cold caches
	readyTimeout = 15 * time.Second // of one try: the next one may find a server that is further
	stopTimeout  = time.Minute
	pollEvery    = 25 * time.Millisecond
)

// process is a running server or program.
type process struct {
	cmd    *exec.Cmd
	output *tail
	done   chan struct{} // closed once it has ended
	err    error         // valid once done is closed
}

// start runs the command until it is stopped. When this process dies, the kernel sends it
// onOurDeath, where the platform can. Its output is kept if the command does not redirect it.
func start(cmd *exec.Cmd, onOurDeath syscall.Signal) (*process, error) {
	p := &process{cmd: cmd, output: &tail{}, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout, cmd.Stderr = p.output, p.output
	}
	// Its children may outlive it for a moment and hold the output open. What is not read by then is lost, and
	// counts as an error.
	cmd.WaitDelay = time.Minute
	// Ctrl-C at the terminal must reach only the test binary, which stops its servers itself.
	group.Lead(cmd, onOurDeath)

	started := make(chan error)
	go func() {
		// To the kernel the parent is the thread that started the process, so this thread
		// must live as long as the process.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// stop sends the signal and waits for the process to end. After stopTimeout it kills it.
func (p *process) stop(signal syscall.Signal) { _ = p.end(signal, stopTimeout) }

// end is stop with a timeout, in which the machine's stalls do not count. It returns the process's exit error,
// or ErrStopTimeout if it had to be killed.
func (p *process) end(signal syscall.Signal, within time.Duration) error {
	_ = p.cmd.Process.Signal(signal)
	ran := MeasureRunning()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for ran() < within {
		select {
		case <-p.done:
			return p.err
		case <-tick.C:
		}
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	return ErrStopTimeout
}

// await polls ready until it succeeds. It fails when the process ends or startTimeout
// passes; the error then holds the end of the process's output.
func (p *process) await(ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s: %w; it said:\n%s", p.cmd.Path, errEnded, p.output)
		case <-ctx.Done():
			return fmt.Errorf("%s was not ready within %s: %w; it said:\n%s", p.cmd.Path, startTimeout, err, p.output)
		case <-tick.C:
		}
	}
}

var errEnded = errors.New("ended before it was ready")

// withFreePort calls start with a port that was free a moment ago. If the server ends,
// another program may have taken the port, so it tries up to three ports.
func withFreePort(start func(port int) error) error {
	var err error
	for range 3 {
		var port int
		if port, err = freeport.Pick(); err != nil {
			return err
		}
		if err = start(port); !errors.Is(err, errEnded) {
			return err
		}
	}
	return err
}

// FreeAddress returns a host:port of this machine on which nothing listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	port, err := freeport.Pick()
	Must(t, err)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// without returns this process's environment minus the variables with a prefix, which are
// meant for clients of other servers.
func without(prefix string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, prefix) {
			env = append(env, v)
		}
	}
	return env
}

// tail keeps the end of a process's output.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	const most = 8 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - most; over > 0 {
		t.text = append([]byte(nil), t.text[over:]...)
	}
	return len(p), nil
}

// String returns the last 8 KiB.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
