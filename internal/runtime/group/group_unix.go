//go:build unix

// Package group starts and ends the programs that a program has started, with all that those have started.
package group

import (
	"os"
	"os/exec"
	"syscall"
)

// Lead gives a program that has not been started a group of processes of its own, which keeps a Ctrl-C at the terminal
// from it. When the thread that has started it dies, Linux sends it a signal; elsewhere it is left running.
func Lead(cmd *exec.Cmd, onDeath syscall.Signal) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	signalOnDeath(cmd.SysProcAttr, onDeath)
}

// AskToEnd has a group end in its own time. Its error wraps errors.ErrUnsupported where nothing can be asked.
func AskToEnd(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGTERM) }

// Kill ends a group at once.
func Kill(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
