package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"myao/sandbox/inspector"
)

// testChild is a supervised child that runs a shell script. Each of its processes appends its id to
// pidFile by the function up, once it is as the test wants it.
type testChild struct {
	*child
	t       *testing.T
	pidFile string // the file
	stop    context.CancelFunc
	done    chan error // what supervise returned

	mu    sync.Mutex
	lines []string
}

func newTestChild(t *testing.T, script string, up func(context.Context, int) bool) *testChild {
	t.Helper()
	dir := t.TempDir()
	n := &testChild{t: t, pidFile: filepath.Join(dir, "pids"), done: make(chan error, 1)}
	n.child = &child{
		name: "sleeper", path: "/bin/sh", args: []string{"-c", "up() { echo $$ >> " + n.pidFile + "; }; " + script}, log: filepath.Join(dir, "log"), isUp: up,
		say: func(format string, args ...any) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.lines = append(n.lines, fmt.Sprintf(format, args...))
		},
	}
	return n
}

func (n *testChild) run() *testChild {
	n.t.Helper()
	ctx, stop := context.WithCancel(n.t.Context())
	n.stop = stop
	go func() { n.done <- n.supervise(ctx) }()
	n.t.Cleanup(func() {
		stop()
		_ = n.Kill()
	})
	return n
}

// pids returns the ids of all processes so far.
func (n *testChild) pids() (pids []int) {
	raw, err := os.ReadFile(n.pidFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		n.t.Fatal(err)
	}
	for _, line := range strings.Fields(string(raw)) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			n.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// alive returns the ids of the processes that still exist.
func (n *testChild) alive() []int {
	return slices.DeleteFunc(n.pids(), func(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}

func (n *testChild) await(what string, done func() bool) {
	n.t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("waited in vain for %s; it is %s, of %v there are %v, told: %q", what, n.State(), n.pids(), n.alive(), n.output())
		}
	}
}

// awaitProcess waits until the child is up in its nth process.
func (n *testChild) awaitProcess(nth int) {
	n.t.Helper()
	n.await(fmt.Sprintf("process %d", nth), func() bool { return n.State() == inspector.Running && len(n.pids()) == nth && len(n.alive()) == 1 })
}

func (n *testChild) mustKill() {
	n.t.Helper()
	if err := n.Kill(); err != nil {
		n.t.Fatal(err)
	}
	if living := n.alive(); n.State() != inspector.Stopped || len(living) != 0 {
		n.t.Fatalf("killed, it is %s, and there are %v", n.State(), living)
	}
}

func (n *testChild) awaitEnd() {
	n.t.Helper()
	select {
	case err := <-n.done:
		if err != nil {
			n.t.Errorf("it ends with %v", err)
		}
	case <-time.After(time.Minute):
		n.t.Fatal("it does not end")
	}
	if living := n.alive(); len(living) != 0 {
		n.t.Errorf("there are still %v", living)
	}
}

func (n *testChild) output() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, "\n")
}

const sleeps = "up; exec sleep 3600"

func TestKilledChildStaysDownUntilStart(t *testing.T) {
	t.Parallel()
	n := newTestChild(t, sleeps, nil).run()
	n.awaitProcess(1)
	n.mustKill()
	n.mustKill() // it is down already
	n.Start()
	n.awaitProcess(2)
	n.Start() // it runs already
	n.mustKill()
	n.Start()
	n.Start()
	n.awaitProcess(3)
	if said := n.output(); strings.Contains(said, "ended") || strings.Count(said, "killing sleeper") != 2 || strings.Count(said, "starting sleeper again") != 2 {
		t.Errorf("it was told:\n%s", said)
	}
	n.stop()
	n.awaitEnd()
}

func TestCrashedChildIsStartedAgain(t *testing.T) {
	t.Parallel()
	n := newTestChild(t, sleeps, nil).run()
	n.awaitProcess(1)
	if err := syscall.Kill(n.alive()[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	n.await("the crash", func() bool { return strings.Contains(n.output(), "sleeper ended (signal: killed); starting it again") })
	if n.State() == inspector.Stopped {
		t.Error("a crashed child counts as stopped")
	}
	n.awaitProcess(2)

	// A child killed in the pause after a crash must stay down.
	if err := syscall.Kill(n.alive()[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	n.await("the second crash", func() bool { return strings.Count(n.output(), "ended") == 2 })
	n.mustKill()
	before := len(n.pids()) // 3 if the pause was over already
	n.Start()
	n.awaitProcess(before + 1)
	n.mustKill()
	n.stop()
	n.awaitEnd()
	if len(n.pids()) != before+1 {
		t.Errorf("there were %v", n.pids())
	}
}

func TestChildIsUpOnceItWorks(t *testing.T) {
	t.Parallel()
	var works atomic.Int64
	n := newTestChild(t, sleeps, func(_ context.Context, pid int) bool { return works.Load() == int64(pid) })
	if err := n.Kill(); err != nil || n.State() != inspector.Stopped {
		t.Fatalf("before it was ever started: %v, %s", err, n.State())
	}
	n.run()
	n.Start()
	n.await("a process", func() bool { return len(n.alive()) == 1 })
	if n.State() != inspector.Starting {
		t.Errorf("it is %s before it works", n.State())
	}
	n.mustKill()
	n.Start()
	n.await("another", func() bool { return len(n.pids()) == 2 && len(n.alive()) == 1 })
	if n.State() != inspector.Starting {
		t.Errorf("it is %s before it works", n.State())
	}
	works.Store(int64(n.alive()[0]))
	n.awaitProcess(2)
	n.stop()
	n.awaitEnd()
}

func TestChildEndsWithTheSandbox(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, script string
		before       func(n *testChild)
		after        func(n *testChild)
	}{
		{"asked to", `sleep 2; trap 'echo bye >> "$0.bye"; exit' TERM; up; while :; do sleep 0.05; done`, func(n *testChild) { n.awaitProcess(1) }, func(n *testChild) {}},
		{"dead", sleeps, func(n *testChild) { n.awaitProcess(1); n.mustKill() }, func(n *testChild) {}},
		{"that was never started", sleeps, func(n *testChild) {}, func(n *testChild) {}},
		{"deaf, and killed meanwhile", `trap '' TERM; up; while :; do sleep 0.05; done`, func(n *testChild) { n.awaitProcess(1) }, func(n *testChild) {
			if err := n.Kill(); err != nil {
				n.t.Error(err)
			}
		}},
		{"and started meanwhile", sleeps, func(n *testChild) { n.awaitProcess(1); n.mustKill() }, func(n *testChild) { n.Start() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := newTestChild(t, test.script, nil)
			n.args = append(n.args, n.pidFile)
			if test.name == "that was never started" {
				if err := n.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			n.run()
			test.before(n)
			n.stop()
			test.after(n)
			n.awaitEnd()
			if err := n.Kill(); err != nil { // must succeed without a process, too
				t.Error(err)
			}
			n.Start()
			_, err := os.Stat(n.pidFile + ".bye")
			if said := err == nil; said != (test.name == "asked to") {
				t.Errorf("it said good-bye: %v", said)
			}
		})
	}
}

func TestConcurrentKillsAndStartsLeaveOneProcess(t *testing.T) {
	t.Parallel()
	n := newTestChild(t, sleeps, nil).run()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 10 {
				if err := n.Kill(); err != nil {
					t.Error(err)
				}
				n.Start()
			}
		})
	}
	group.Wait()
	n.await("rest", func() bool { return n.State() == inspector.Running && len(n.alive()) == 1 })
	n.mustKill()
	n.Start()
	n.await("one process", func() bool { return n.State() == inspector.Running && len(n.alive()) == 1 })
	if said := n.output(); strings.Contains(said, "ended") {
		t.Errorf("a kill was reported as a crash:\n%s", said)
	}
	n.stop()
	n.awaitEnd()
}

func TestChildThatCannotBeStartedIsAnError(t *testing.T) {
	t.Parallel()
	c := &child{name: "nobody", path: filepath.Join(t.TempDir(), "nobody"), log: filepath.Join(t.TempDir(), "log"), say: func(string, ...any) {}}
	if err := c.supervise(t.Context()); err == nil || !strings.Contains(err.Error(), "start nobody") {
		t.Errorf("%v", err)
	}
}

func TestChildInheritsOnlySomeOfTheEnvironment(t *testing.T) {
	t.Setenv("TEMPORAL_API_KEY", "theirs")
	t.Setenv("OTEL_TRACES_EXPORTER", "console")
	s := &system{dir: t.TempDir(), ports: ports{temporal: "127.0.0.1:7233", ui: "127.0.0.1:8233"}}
	for _, test := range []struct {
		child  *child
		traces string
	}{
		{s.temporal("/bin/sh", "127.0.0.1:8700"), ""},
		{s.child("worker", "/bin/sh"), "console"},
	} {
		test.child.args = []string{"-c", `echo "$OTEL_TRACES_EXPORTER $TEMPORAL_API_KEY $TEMPORAL_ADDRESS"`}
		if err := test.child.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := test.child.tail(), test.traces+"  127.0.0.1:7233\n"; got != want {
			t.Errorf("%s sees %q, want %q", test.child.name, got, want)
		}
	}
}
