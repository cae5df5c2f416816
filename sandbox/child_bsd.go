//go:build unix && !linux

package main

import "syscall"

// newGroup keeps a Ctrl-C at the terminal from a child. A killed sandbox leaves its children running.
func newGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
