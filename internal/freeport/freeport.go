// Package freeport finds ports of this machine for servers that are started later.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

// next lies below the ports that the kernel gives to outgoing connections (from 32768 on,
// net.ipv4.ip_local_port_range): one of those may be taken between the choice and its
// use, and while a server that is to come back is down.
var next = func() *atomic.Int32 {
	var n atomic.Int32
	n.Store(20_000 + rand.Int32N(8000))
	return &n
}()

// Pick is a port of 127.0.0.1 on which nobody listens at this moment, and which it has not
// picked before. The error says that none is free among a hundred.
func Pick() (int, error) {
	var err error
	for range 100 {
		port := int(next.Add(1))
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}
