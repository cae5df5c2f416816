package main

import "syscall"

// dieWithParent has the kernel end a child whose parent is gone.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
