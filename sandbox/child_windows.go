package main

import (
	"os"
	"syscall"
)

// newGroup keeps a Ctrl-C at the terminal from a child. A killed sandbox leaves its children running.
func newGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// askToEnd ends a child at once, because there is no signal that asks. What it does not finish, its
// successor does.
func askToEnd(p *os.Process) error { return p.Kill() }
