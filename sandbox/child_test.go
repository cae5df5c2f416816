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

	"myao/internal/inspector"
)

// nursery is a child that a test looks after: a shell script that runs after it has
// written down the number of its process.
type nursery struct {
	*child
	t    *testing.T
	pids string // the file
	stop context.CancelFunc
	over chan error // what supervise returned

	mu   sync.Mutex
	told []string
}

func raise(t *testing.T, script string, up func(context.Context, int) bool) *nursery {
	t.Helper()
	dir := t.TempDir()
	n := &nursery{t: t, pids: filepath.Join(dir, "pids"), over: make(chan error, 1)}
	n.child = &child{
		name: "sleeper", path: "/bin/sh", args: []string{"-c", "echo $$ >> " + n.pids + "; " + script}, log: filepath.Join(dir, "log"), up: up,
		say: func(format string, args ...any) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.told = append(n.told, fmt.Sprintf(format, args...))
		},
	}
	return n
}

func (n *nursery) run() *nursery {
	n.t.Helper()
	ctx, stop := context.WithCancel(n.t.Context())
	n.stop = stop
	go func() { n.over <- n.supervise(ctx) }()
	n.t.Cleanup(func() {
		stop()
		_ = n.Kill()
	})
	return n
}

// born is the processes that there were.
func (n *nursery) born() (pids []int) {
	raw, err := os.ReadFile(n.pids)
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

// living is those of them that there still are.
func (n *nursery) living() []int {
	return slices.DeleteFunc(n.born(), func(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}

func (n *nursery) await(what string, done func() bool) {
	n.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("waited in vain for %s; it is %s, of %v there are %v, told: %q", what, n.State(), n.born(), n.living(), n.said())
		}
	}
}

// runs waits until the child is up in its nth process.
func (n *nursery) runs(nth int) {
	n.t.Helper()
	n.await(fmt.Sprintf("process %d", nth), func() bool { return n.State() == inspector.Running && len(n.born()) == nth && len(n.living()) == 1 })
}

func (n *nursery) kills() {
	n.t.Helper()
	if err := n.Kill(); err != nil {
		n.t.Fatal(err)
	}
	if living := n.living(); n.State() != inspector.Stopped || len(living) != 0 {
		n.t.Fatalf("killed, it is %s, and there are %v", n.State(), living)
	}
}

func (n *nursery) ends() {
	n.t.Helper()
	select {
	case err := <-n.over:
		if err != nil {
			n.t.Errorf("it ends with %v", err)
		}
	case <-time.After(time.Minute):
		n.t.Fatal("it does not end")
	}
	if living := n.living(); len(living) != 0 {
		n.t.Errorf("there are still %v", living)
	}
}

func (n *nursery) said() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.told, "\n")
}

const sleeps = "exec sleep 100"

func TestAChildThatIsKilledStaysDead(t *testing.T) {
	t.Parallel()
	n := raise(t, sleeps, nil).run()
	n.runs(1)
	n.kills()
	n.kills() // it is dead already
	n.Start()
	n.runs(2)
	n.Start() // it runs already
	n.kills()
	n.Start()
	n.Start()
	n.runs(3)
	if said := n.said(); strings.Contains(said, "ended") || strings.Count(said, "killing sleeper") != 2 || strings.Count(said, "starting sleeper again") != 2 {
		t.Errorf("it was told:\n%s", said)
	}
	n.stop()
	n.ends()
}

func TestAChildThatCrashesIsStartedAgain(t *testing.T) {
	t.Parallel()
	n := raise(t, sleeps, nil).run()
	n.runs(1)
	if err := syscall.Kill(n.living()[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	n.await("the crash", func() bool { return strings.Contains(n.said(), "sleeper ended (signal: killed); starting it again") })
	if n.State() == inspector.Stopped {
		t.Error("who crashed is not stopped")
	}
	n.runs(2)

	// Killed in the pause after a crash, it does not come back.
	if err := syscall.Kill(n.living()[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	n.await("the second crash", func() bool { return strings.Count(n.said(), "ended") == 2 })
	n.kills()
	n.Start()
	n.runs(3)
	n.kills()
	n.stop()
	n.ends()
	if len(n.born()) != 3 {
		t.Errorf("there were %v", n.born())
	}
}

func TestAChildIsUpWhenItWorks(t *testing.T) {
	t.Parallel()
	var works atomic.Int64
	n := raise(t, sleeps, func(_ context.Context, pid int) bool { return works.Load() == int64(pid) })
	if err := n.Kill(); err != nil || n.State() != inspector.Stopped {
		t.Fatalf("before it was ever started: %v, %s", err, n.State())
	}
	n.run()
	n.Start()
	n.await("a process", func() bool { return len(n.living()) == 1 })
	if n.State() != inspector.Starting {
		t.Errorf("it is %s before it works", n.State())
	}
	n.kills()
	n.Start()
	n.await("another", func() bool { return len(n.born()) == 2 && len(n.living()) == 1 })
	if n.State() != inspector.Starting {
		t.Errorf("it is %s before it works", n.State())
	}
	works.Store(int64(n.living()[0]))
	n.runs(2)
	n.stop()
	n.ends()
}

func TestAChildEndsWithTheSandbox(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, script string
		before       func(n *nursery)
		after        func(n *nursery)
	}{
		{"asked to", `trap 'echo bye >> "$0.bye"; exit' TERM; while :; do sleep 0.05; done`, func(n *nursery) { n.runs(1) }, func(n *nursery) {}},
		{"dead", sleeps, func(n *nursery) { n.runs(1); n.kills() }, func(n *nursery) {}},
		{"that was never started", sleeps, func(n *nursery) {}, func(n *nursery) {}},
		{"deaf, and killed meanwhile", `trap '' TERM; while :; do sleep 0.05; done`, func(n *nursery) { n.runs(1) }, func(n *nursery) {
			if err := n.Kill(); err != nil {
				n.t.Error(err)
			}
		}},
		{"and started meanwhile", sleeps, func(n *nursery) { n.runs(1); n.kills() }, func(n *nursery) { n.Start() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := raise(t, test.script, nil)
			n.args = append(n.args, n.pids)
			if test.name == "that was never started" {
				if err := n.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			n.run()
			test.before(n)
			n.stop()
			test.after(n)
			n.ends()
			if err := n.Kill(); err != nil { // nobody is there any more
				t.Error(err)
			}
			n.Start()
			_, err := os.Stat(n.pids + ".bye")
			if said := err == nil; said != (test.name == "asked to") {
				t.Errorf("it said good-bye: %v", said)
			}
		})
	}
}

func TestAChildThatIsPulledToAndFro(t *testing.T) {
	t.Parallel()
	n := raise(t, sleeps, nil).run()
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
	n.await("rest", func() bool { return n.State() == inspector.Running && len(n.living()) == 1 })
	n.kills()
	n.Start()
	n.await("one process", func() bool { return n.State() == inspector.Running && len(n.living()) == 1 })
	if said := n.said(); strings.Contains(said, "ended") {
		t.Errorf("it takes a kill for a crash:\n%s", said)
	}
	n.stop()
	n.ends()
}

func TestAChildThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	c := &child{name: "nobody", path: filepath.Join(t.TempDir(), "nobody"), log: filepath.Join(t.TempDir(), "log"), say: func(string, ...any) {}}
	if err := c.supervise(t.Context()); err == nil || !strings.Contains(err.Error(), "start nobody") {
		t.Errorf("%v", err)
	}
}

func TestWhatAChildSeesOfTheEnvironment(t *testing.T) {
	t.Setenv("TEMPORAL_API_KEY", "theirs")
	t.Setenv("OTEL_TRACES_EXPORTER", "console")
	s := &system{dir: t.TempDir(), ports: ports{temporal: "127.0.0.1:7233", ui: "127.0.0.1:8233"}}
	for _, test := range []struct {
		child  *child
		traces string
	}{
		{s.temporal("/bin/sh"), ""},
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
