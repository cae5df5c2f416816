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

	"myao/internal/inspector"
)

// child is a program that the sandbox keeps running: one that dies is started
// again, but for one that a visitor has killed.
type child struct {
	name, path string
	args, env  []string
	// hidden is how variables of the user's environment begin that it does not see.
	hidden []string
	log    string
	say    func(format string, args ...any)
	// up reports whether the process does its work yet; nil: as soon as it runs.
	up func(ctx context.Context, pid int) bool

	mu      sync.Mutex
	process *os.Process   // nil while there is none
	ended   chan struct{} // closed when it has ended
	working bool          // it is up
	struck  bool          // by Kill, which ends it
	dead    chan struct{} // nil, but from Kill until Start, which closes it
}

var _ inspector.Worker = (*child)(nil)

const (
	// stopWithin is how long a child may take to end when it is asked to.
	stopWithin = 25 * time.Second
	// lookEvery is how often a child that was started is looked at until it is up.
	lookEvery = 200 * time.Millisecond
)

// errKilled is how a child ends that was killed by Kill.
var errKilled = errors.New("killed")

// supervise runs the child until the context ends. A child that cannot be
// started, or that dies again and again at once, is an error.
func (c *child) supervise(ctx context.Context) error {
	for quick := 0; c.wanted(ctx); {
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
			return fmt.Errorf("%s ends at once, again and again; its log says why: %s", c.name, c.tail())
		}
		c.say("%s ended (%v); starting it again", c.name, err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
	return nil
}

// wanted waits while the child is to stay dead. It is false once the context has ended.
func (c *child) wanted(ctx context.Context) bool {
	c.mu.Lock()
	dead := c.dead
	c.mu.Unlock()
	if dead != nil {
		select {
		case <-dead:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// run runs the child once. It ends with this process, however that ends.
func (c *child) run(ctx context.Context) error {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), c.hides), append(c.env, "TEMPORAL_CONFIG_FILE="+os.DevNull)...)
	cmd.Stdout, cmd.Stderr = log, log
	// A Ctrl-C at the terminal is for the sandbox, which asks its children to stop.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWithin
	// The kernel takes the end of the thread that started a child for the end of its parent.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.start(cmd); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	go c.await(running, cmd.Process.Pid)
	err = cmd.Wait()
	stop()
	return c.end(err)
}

// hides reports whether the child does not see a variable. Whatever Temporal the user's
// environment and profile speak of, it is not this one.
func (c *child) hides(variable string) bool {
	return strings.HasPrefix(variable, "TEMPORAL_") ||
		slices.ContainsFunc(c.hidden, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
}

func (c *child) start(cmd *exec.Cmd) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead != nil {
		return errKilled
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.process, c.ended = cmd.Process, make(chan struct{})
	return nil
}

// await waits until the child is up, or the context ends with it.
func (c *child) await(ctx context.Context, pid int) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for c.up != nil && !c.up(ctx, pid) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() == nil {
		c.working = true
	}
}

// end takes in that the child has ended, and returns why.
func (c *child) end(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.struck {
		err = errKilled
	}
	close(c.ended)
	c.process, c.working, c.struck = nil, false, false
	return err
}

// State is whether the child is up.
func (c *child) State() inspector.WorkerState {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.dead != nil:
		return inspector.Stopped
	case c.working:
		return inspector.Running
	}
	return inspector.Starting
}

// Kill ends the child with SIGKILL and returns when it has ended. It is not started
// before Start is called. One that does not run just now is not started either.
func (c *child) Kill() error {
	c.mu.Lock()
	if c.dead == nil {
		c.say("killing %s, which stays dead until it is started again", c.name)
		c.dead = make(chan struct{})
	}
	if c.process == nil {
		c.mu.Unlock()
		return nil
	}
	c.struck = true
	err, ended := c.process.Kill(), c.ended
	c.mu.Unlock()
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", c.name, err)
	}
	<-ended
	return nil
}

// Start has the child started that was killed; one that was not, it leaves alone.
func (c *child) Start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead != nil {
		c.say("starting %s again", c.name)
		close(c.dead)
		c.dead = nil
	}
}

// tail is the end of the child's log.
func (c *child) tail() string {
	all, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(all[max(0, len(all)-2000):])
}
