package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Roles that TestMain plays in a process that a test has started.
const (
	roleVariable = "MYAO_TEST_ROLE"
	rolePrivate  = "private" // a program, as its main function starts it
	roleOpen     = "open"    // the same without Main
	roleReader   = "reader"  // a program that one of these starts
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case rolePrivate:
		Main(startReader)
	case roleOpen:
		os.Exit(startReader(context.Background(), nil, os.Stderr))
	case roleReader:
		readParent()
	default:
		os.Exit(m.Run())
	}
}

// startReader starts a program of the same user, with an environment of its own.
func startReader(ctx context.Context, _ []string, stderr io.Writer) int {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{roleVariable + "=" + roleReader}, os.Stdout, stderr
	if err := cmd.Run(); err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// readParent prints what it can read of the process that has started it.
func readParent() {
	of := fmt.Sprintf("/proc/%d/", os.Getppid())
	for _, file := range []string{"environ", "maps", "auxv"} {
		if text, err := os.ReadFile(of + file); err == nil && len(text) > 0 {
			fmt.Println(file)
		}
	}
	if f, err := os.OpenFile(of+"mem", os.O_RDWR, 0); err == nil {
		fmt.Println("mem")
		_ = f.Close()
	}
	if all, err := os.ReadDir(of + "fd"); err == nil && len(all) > 0 {
		fmt.Println("fd")
	}
	for _, link := range []string{"cwd", "root", "exe"} {
		if _, err := os.Readlink(of + link); err == nil {
			fmt.Println(link)
		}
	}
}

// A program of the same user, such as an MCP server that the worker starts, reads nothing of this one.
func TestProgramsOfTheSameUserSeeNothing(t *testing.T) {
	t.Parallel()
	for role, want := range map[string][]string{
		rolePrivate: nil,
		roleOpen:    {"auxv", "cwd", "environ", "exe", "fd", "maps", "mem", "root"}, // what the test would notice
	} {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
		cmd.Env = []string{roleVariable + "=" + role, "MYAO_TEST_SECRET=shh"}
		var stderr strings.Builder
		cmd.Stderr, cmd.Dir = &stderr, "/"
		if os.Getuid() == 0 { // root reads everything
			const nobody = 65534
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		out, err := cmd.Output()
		got := strings.Fields(string(out))
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: it reads %q, %v %s; want %q", role, got, err, &stderr, want)
		}
	}
}
