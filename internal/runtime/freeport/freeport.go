// Package freeport finds free ports of this machine for servers that start later.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// The ports are below those that the kernel gives to outgoing connections (from 32768 on,
// net.ipv4.ip_local_port_range). The kernel could assign one of those between Pick and its
// use, or while a server restarts.
const (
	first  = 20_000
	blocks = 127
	size   = 100
)

// claimed are the blocks of ports that this process owns; it picks from the last one. A
// process owns a block while it listens on the block's first port. It stops listening when
// it dies, however it dies. So two processes never pick the same port at the same time.
var claimed struct {
	sync.Mutex
	listeners []net.Listener
	next, end int
}

// Pick returns a port of 127.0.0.1 on which nobody listens at this moment. It returns no
// port twice, and no other process picks it while this one runs. It fails if none is free.
func Pick() (int, error) {
	claimed.Lock()
	defer claimed.Unlock()
	for {
		if claimed.next == claimed.end {
			if err := claim(); err != nil {
				return 0, fmt.Errorf("find a free port: %w", err)
			}
		}
		port := claimed.next
		claimed.next++
		if free(port) {
			return port, nil
		}
	}
}

func free(port int) bool {
	// A child forked meanwhile would inherit the socket until it execs.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	l, err := listen(port)
	return err == nil && l.Close() == nil
}

// claim takes a block that no process owns.
func claim() error {
	// The first use of a process makes package os fork once without ForkLock (os.checkPidfd). The fork would
	// keep the socket of free open, so it is made here, while there is none.
	if own, err := os.FindProcess(os.Getpid()); err == nil {
		_ = own.Release()
	}
	for _, block := range rand.Perm(blocks) {
		start := first + block*size
		if l, err := listen(start); err == nil {
			claimed.listeners = append(claimed.listeners, l)
			claimed.next, claimed.end = start+1, start+size
			return nil
		}
	}
	return errors.New("each block of a hundred from 20000 to 32699 is in use")
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}
