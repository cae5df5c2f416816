package testserver_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"myao/test/testserver"
)

func TestProgramStartsFreezesStopsAndDies(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "said")
	said, err := os.Create(path)
	testserver.Must(t, err)
	t.Cleanup(func() { _ = said.Close() })
	p := testserver.NewProgram(t, said, "/bin/sh", "-c", `trap 'exit 3' TERM; i=0; while :; do i=$((i+1)); echo "$WORD $i"; sleep 0.05; done`)
	p.Env = []string{"WORD=tick"}
	ticks := func() int {
		t.Helper()
		all, err := os.ReadFile(path)
		testserver.Must(t, err)
		return strings.Count(string(all), "tick")
	}
	ticksOn := func() bool {
		t.Helper()
		before := ticks()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if ticks() > before {
				return true
			}
		}
		return false
	}
	if p.PID() != 0 || p.Ended() != nil {
		t.Error("it runs before Start")
	}
	p.Start()
	if !ticksOn() {
		t.Fatal("it does not run")
	}
	p.Freeze()
	rests := func() bool { // output may be under way
		before := ticks()
		time.Sleep(300 * time.Millisecond)
		return ticks() == before
	}
	for deadline := time.Now().Add(time.Minute); !rests(); {
		if time.Now().After(deadline) {
			t.Fatal("it runs while it is frozen")
		}
	}
	p.Thaw()
	if !ticksOn() {
		t.Error("it does not go on")
	}
	if err := p.Stop(); err == nil || errors.Is(err, testserver.ErrStopTimeout) {
		t.Errorf("it stopped with %v, want exit status 3", err)
	}
	p.Start()
	ended := p.Ended()
	p.Freeze()
	p.Kill()
	select {
	case <-ended:
	default:
		t.Error("it still runs after Kill")
	}
	if p.PID() != 0 || p.Stop() != nil {
		t.Error("a killed program is not reported as down")
	}
}
