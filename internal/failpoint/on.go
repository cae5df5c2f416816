//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"syscall"
)

// Here ends the program, as kill -9 does, if this is the point that Variable names.
func Here(name string) {
	if os.Getenv(Variable) != name {
		return
	}
	fmt.Fprintln(os.Stderr, "failpoint:", name)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // nothing after this point, though the signal may take a moment
}
