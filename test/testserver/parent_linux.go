package testserver

import "syscall"

// signalOnParentDeath has the kernel send the signal to the process when we die.
func signalOnParentDeath(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
