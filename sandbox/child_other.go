//go:build !linux

package main

import "syscall"

// dieWithParent can do nothing here: a sandbox that is killed leaves its children.
func dieWithParent(*syscall.SysProcAttr) {}
