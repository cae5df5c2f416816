package freeport

import (
	"net"
	"strconv"
	"testing"
)

func TestPick(t *testing.T) {
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
			t.Errorf("%d came before, or is one that outgoing connections get", port)
		}
		seen[port] = true
	}
}
