package launch

import "syscall"

// keepPrivate keeps other programs of this user, such as MCP servers that the worker has started, from reading this
// process's environment, memory and open files under /proc, and from tracing it. It also ends core dumps. Of root's
// programs it keeps nothing.
func keepPrivate() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
