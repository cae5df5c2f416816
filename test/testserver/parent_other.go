//go:build unix && !linux

package testserver

import "syscall"

// signalOnParentDeath does nothing: only Linux can signal a process when its parent dies.
// A killed test binary leaves its servers running.
func signalOnParentDeath(*syscall.SysProcAttr, syscall.Signal) {}
