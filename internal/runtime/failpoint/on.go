//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"syscall"
)

// Here kills the program with SIGKILL if Variable names this point.
func Here(name string) {
	if os.Getenv(Variable) != name {
		return
	}
	fmt.Fprintln(os.Stderr, "failpoint:", name)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal may take a moment; nothing after this point must run
}
