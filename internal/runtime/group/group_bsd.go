//go:build unix && !linux

package group

import "syscall"

func signalOnDeath(*syscall.SysProcAttr, syscall.Signal) {}
