//go:build unix

package mcp

import (
	"os"
	"syscall"
)

// askToEnd and kill signal a child and all that it has started.
func askToEnd(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }
func kill(p *os.Process)     { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
