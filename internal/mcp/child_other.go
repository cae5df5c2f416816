//go:build !linux

package mcp

import "syscall"

// dieWithParent does nothing: the child ends when its standard input does.
func dieWithParent(*syscall.SysProcAttr) {}
