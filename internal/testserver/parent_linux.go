package testserver

import "syscall"

// dieWithUs has the kernel send the signal to the process when we are gone.
func dieWithUs(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
