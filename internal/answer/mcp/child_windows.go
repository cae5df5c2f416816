package mcp

import (
	"os"
	"syscall"
)

// newGroup has no meaning here: a child ends when its standard input does.
func newGroup() *syscall.SysProcAttr { return nil }

// askToEnd does nothing, because there is no such signal. What the child has started is left to it.
func askToEnd(*os.Process) {}
func kill(p *os.Process)   { _ = p.Kill() }
