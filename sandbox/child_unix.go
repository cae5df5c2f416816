//go:build unix

package main

import (
	"os"
	"syscall"
)

// askToEnd has a child end in its own time.
func askToEnd(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
