package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"myao/internal/runtime/group"
	"myao/internal/runtime/pause"
	"myao/sandbox/inspector"
)

// child is a program that the sandbox keeps running. A child that dies is started again,
// unless a visitor has killed it.
type child struct {
	name, path string
	args, env  []string
	// hiddenPrefixes are prefixes of environment variables that the child must not inherit.
	hiddenPrefixes []string
	log            string
	say            func(format string, args ...any)
	// isUp reports whether the process works yet; nil means that it works once it runs.
	isUp func(ctx context.Context, pid int) bool

	mu      sync.Mutex
	process *os.Process   // nil while there is none
	ended   chan struct{} // closed once it has ended
	up      bool          // isUp returned true
	killed  bool          // Kill has sent the signal
	restart chan struct{} // nil, except between Kill and Start, which closes it
}

var _ inspector.Worker = (*child)(nil)

const (
	// stopWithin is how long a child may take to end when it is asked to.
	stopWithin = 25 * time.Second
	// pollEvery is how often isUp is called until the child is up.
	pollEvery = 200 * time.Millisecond
)

// errKilled is what run returns for a child that Kill ended.
var errKilled = errors.New("killed")

// supervise runs the child until the context ends. It fails if the child cannot be started or
// repeatedly ends within seconds.
func (c *child) supervise(ctx context.Context) error {
	for quick := 0; c.awaitStart(ctx); {
		began := time.Now()
		err := c.run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errKilled) {
			quick = 0
			continue
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) && err != nil {
			return fmt.Errorf("start %s: %w", c.name, err)
		}
		if quick++; time.Since(began) > 10*time.Second {
			quick = 0
		}
		if quick > 5 {
			return fmt.Errorf("%s keeps ending right after its start; the end of its log: %s", c.name, c.tail())
		}
		c.say("%s ended (%v); starting it again", c.name, err)
		if !pause.For(ctx, time.Second) {
			return nil
		}
	}
	return nil
}

// awaitStart waits for Start if the child was killed. It returns false once the context has ended.
func (c *child) awaitStart(ctx context.Context) bool {
	c.mu.Lock()
	restart := c.restart
	c.mu.Unlock()
	if restart != nil {
		select {
		case <-restart:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// run runs the child once and returns when it has ended. The child dies with this process.
func (c *child) run(ctx context.Context) error {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), c.hidesVariable),
		append(c.env, "TEMPORAL_CONFIG_FILE="+os.DevNull)...)
	cmd.Stdout, cmd.Stderr = log, log
	// Ctrl-C at the terminal must reach only the sandbox, which stops its children itself.
	group.Lead(cmd, syscall.SIGTERM)
	cmd.Cancel = func() error {
		if group.AskToEnd(cmd.Process) == nil {
			return nil
		}
		return cmd.Process.Kill() // what it does not finish, its successor does
	}
	cmd.WaitDelay = stopWithin
	// To the kernel the parent is the thread that started the child, so keep that thread alive.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.start(cmd); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	go c.awaitUp(running, cmd.Process.Pid)
	err = cmd.Wait()
	stop()
	return c.finish(err)
}

// hidesVariable reports whether the child must not inherit a variable. The user's TEMPORAL_
// variables belong to another Temporal server.
func (c *child) hidesVariable(variable string) bool {
	return strings.HasPrefix(variable, "TEMPORAL_") ||
		slices.ContainsFunc(c.hiddenPrefixes, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
}

func (c *child) start(cmd *exec.Cmd) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.restart != nil {
		return errKilled
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.process, c.ended = cmd.Process, make(chan struct{})
	return nil
}

// awaitUp sets up once isUp returns true. The context ends with the child.
func (c *child) awaitUp(ctx context.Context, pid int) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for c.isUp != nil && !c.isUp(ctx, pid) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() == nil {
		c.up = true
	}
}

// finish records that the child has ended. It returns errKilled if Kill ended it, else err.
func (c *child) finish(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed {
		err = errKilled
	}
	close(c.ended)
	c.process, c.up, c.killed = nil, false, false
	return err
}

// State returns whether the child is stopped, starting or running.
func (c *child) State() inspector.WorkerState {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.restart != nil:
		return inspector.Stopped
	case c.up:
		return inspector.Running
	}
	return inspector.Starting
}

// Kill ends the child with SIGKILL and returns once it has ended. The child, running or not,
// stays down until Start.
func (c *child) Kill() error {
	c.mu.Lock()
	if c.restart == nil {
		c.say("killing %s; it stays down until somebody starts it again", c.name)
		c.restart = make(chan struct{})
	}
	if c.process == nil {
		c.mu.Unlock()
		return nil
	}
	c.killed = true
	err, ended := c.process.Kill(), c.ended
	c.mu.Unlock()
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", c.name, err)
	}
	<-ended
	return nil
}

// Start has a killed child started again. Otherwise it does nothing.
func (c *child) Start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.restart != nil {
		c.say("starting %s again", c.name)
		close(c.restart)
		c.restart = nil
	}
}

// tail returns the end of the child's log.
func (c *child) tail() string {
	all, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(all[max(0, len(all)-2000):])
}
