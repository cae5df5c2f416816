package group

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Lead keeps a Ctrl-C at the terminal from a program that has not been started.
func Lead(cmd *exec.Cmd, _ syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// AskToEnd has no signal to send.
func AskToEnd(*os.Process) error {
	return fmt.Errorf("ask a process to end: %w on Windows", errors.ErrUnsupported)
}

// Kill ends a program at once. What it has started is left.
func Kill(p *os.Process) error { return p.Kill() }
