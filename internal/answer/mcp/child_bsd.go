//go:build unix && !linux

package mcp

import "syscall"

// newGroup gives a child a group of processes of its own. It ends when its standard input does.
func newGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
