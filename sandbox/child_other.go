//go:build !linux

package main

import "syscall"

// dieWithParent does nothing on this platform: a killed sandbox leaves its children running.
func dieWithParent(*syscall.SysProcAttr) {}
