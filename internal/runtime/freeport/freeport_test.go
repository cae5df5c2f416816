package freeport

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// picks is an environment variable. If it is set, this test binary picks and prints that
// many ports and then runs until its standard input ends.
const picks = "MYAO_TEST_PICKS"

func TestMain(m *testing.M) {
	n, err := strconv.Atoi(os.Getenv(picks))
	if err != nil {
		os.Exit(m.Run())
	}
	for range n {
		port, err := Pick()
		if err != nil {
			panic(err)
		}
		fmt.Println(port)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func TestPickReturnsDistinctFreePorts(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 20 {
		port, err := Pick()
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Fatalf("%d is not free: %v", port, err)
		}
		defer func() { _ = l.Close() }()
		if seen[port] || port < 1024 || port >= 32768 {
			t.Errorf("%d was picked before, or belongs to outgoing connections", port)
		}
		seen[port] = true
	}
}

// TestProcessesPickDifferentPorts picks in several processes. No process listens on a
// picked port before the others have picked theirs.
func TestProcessesPickDifferentPorts(t *testing.T) {
	t.Parallel()
	const processes, each = 4, 2 * size // more than one block
	seen := map[string]int{}
	for process := range processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", picks, each))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := in.Close(); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
		lines := bufio.NewScanner(out)
		for range each {
			if !lines.Scan() {
				t.Fatalf("process %d ended early: %v", process, lines.Err())
			}
			if other, taken := seen[lines.Text()]; taken {
				t.Fatalf("processes %d and %d both picked %s", other, process, lines.Text())
			}
			seen[lines.Text()] = process
		}
	}
}
