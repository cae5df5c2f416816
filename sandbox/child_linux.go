package main

import "syscall"

// newGroup keeps a Ctrl-C at the terminal from a child, and makes the kernel end the child when its
// parent dies.
func newGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
