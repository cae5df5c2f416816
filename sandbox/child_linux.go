package main

import "syscall"

// dieWithParent makes the kernel end the child when its parent dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
