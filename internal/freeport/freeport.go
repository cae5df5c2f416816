// Package freeport finds ports of this machine for servers that are started later.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"syscall"
)

// The ports lie below those that the kernel gives to outgoing connections (from 32768 on,
// net.ipv4.ip_local_port_range): one of those may be taken between the choice and its
// use, and while a server that is to come back is down.
const (
	first  = 20_000
	blocks = 127
	size   = 100
)

// claimed are the blocks of ports that this process has to itself, of which it picks from
// the last. A process has a block while it listens on the first of its ports, which ends
// with the process whatever ends it: so no two that pick at one time get the same port.
var claimed struct {
	sync.Mutex
	listeners []net.Listener
	next, end int
}

// Pick is a port of 127.0.0.1 on which nobody listens at this moment, which it has not
// picked before, and which it picks in no other process while this one runs. The error
// says that none is free.
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
	// A process that is forked meanwhile would hold the socket until it runs its program.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	l, err := listen(port)
	return err == nil && l.Close() == nil
}

// claim begins a block that no process has.
func claim() error {
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
