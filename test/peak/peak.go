// Package peak measures how much memory something takes at its worst moment.
package peak

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

const (
	variable = "MYAO_TEST_PEAK"
	// goal is GOMEMLIMIT as the programs are shipped with it (docker-compose.yml).
	goal = "GOMEMLIMIT=400MiB"
	// Most is by how many bytes one input may raise what a program takes.
	Most = 150_000_000
)

var line = regexp.MustCompile(`(?m)^peak of (.*): (\d+)$`)

// Of measures by how many bytes the resident memory of a process rises at most in each case, and fails
// the test where that is more than Most. The cases are prepared, which is not counted, and run one after
// the other, in a process of their own: the test's own program, which runs this very test again. So a test
// calls it once.
func Of(t *testing.T, prepare func() map[string]func()) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("measures by /proc")
	}
	if os.Getenv(variable) != "" {
		for name, run := range prepare() {
			fmt.Printf("\npeak of %s: %d\n", name, one(t, run))
		}
		os.Exit(0)
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	c.Env = append(os.Environ(), variable+"=1", goal)
	out, err := c.CombinedOutput()
	found := line.FindAllStringSubmatch(string(out), -1)
	if err != nil || len(found) == 0 {
		t.Fatalf("measured %d cases: %v\n%s", len(found), err, out)
	}
	for _, m := range found {
		n, err := strconv.ParseInt(m[2], 10, 64)
		if t.Logf("%s: %d MB", m[1], n/1_000_000); err != nil || n > Most {
			t.Errorf("%s: %d MB, %v, want at most %d", m[1], n/1_000_000, err, Most/1_000_000)
		}
	}
}

func one(t *testing.T, run func()) int64 {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak begins anew
		t.Fatal(err)
	}
	rest := resident(t, "VmRSS:")
	run()
	return max(0, resident(t, "VmHWM:")-rest)
}

// resident reads a number of bytes that the system knows of this process.
func resident(t *testing.T, key string) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), key)
	n, err := strconv.ParseInt(strings.Fields(after + " -")[0], 10, 64)
	if err != nil {
		t.Fatalf("the system does not tell %s: %v", key, err)
	}
	return n << 10
}
