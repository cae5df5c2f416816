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
	"syscall"
	"time"
)

// child is a program that the sandbox keeps running: one that dies is started
// again. Kill one, and watch what becomes of a waiting reply.
type child struct {
	name, path string
	args, env  []string
	log        string
	say        func(format string, args ...any)
}

// stopWithin is how long a child may take to end when it is asked to.
const stopWithin = 25 * time.Second

// supervise runs the child until the context ends. A child that cannot be
// started, or that dies again and again at once, is an error.
func (c child) supervise(ctx context.Context) error {
	for quick := 0; ; {
		began := time.Now()
		err := c.run(ctx)
		if ctx.Err() != nil {
			return nil
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
}

// run runs the child once. It ends with this process, however that ends.
func (c child) run(ctx context.Context) error {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	// Whatever Temporal the user's environment and profile speak of, it is not this one.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TEMPORAL_") }),
		append(c.env, "TEMPORAL_CONFIG_FILE="+os.DevNull)...)
	cmd.Stdout, cmd.Stderr = log, log
	// A Ctrl-C at the terminal is for the sandbox, which asks its children to stop.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWithin
	// The kernel takes the end of the thread that started a child for the end of its parent.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}

// tail is the end of the child's log.
func (c child) tail() string {
	all, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(all[max(0, len(all)-2000):])
}
