package mcp

import "syscall"

// dieWithParent makes the kernel kill the child when its parent dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
