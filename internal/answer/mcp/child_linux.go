package mcp

import "syscall"

// newGroup gives a child a group of processes of its own, and makes the kernel kill it when its parent
// dies.
func newGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
