package cli

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/term"

	"myao/test/startertest"
)

// pseudoTerminal returns both ends of a terminal.
func pseudoTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	var number, unlocked int32
	for request, value := range map[uintptr]*int32{syscall.TIOCGPTN: &number, syscall.TIOCSPTLCK: &unlocked} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, person.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// A terminal does not show a secret, and is as it was after Ctrl-C in the middle of one.
func TestInitOnATerminal(t *testing.T) {
	t.Parallel()
	b := newInit(t)
	person, program := pseudoTerminal(t)
	before, err := term.GetState(int(program.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "init", "--slack-api", b.api)
	cmd.Dir, cmd.Env = b.dir, []string{startertest.Variable + "=1"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said startertest.Log
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := person.Read(buffer)
			if _, _ = said.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	changed := func() bool {
		now, err := term.GetState(int(program.Fd()))
		return err == nil && !reflect.DeepEqual(now, before)
	}
	for _, step := range []struct{ asked, typed string }{{"socket or http", "\n"}, {"Bot token", initBotToken + "\n"}, {"App token", initAppToken}} {
		startertest.Await(t, step.asked, func() bool {
			return strings.Contains(said.String(), step.asked+",") || strings.Contains(said.String(), step.asked+" [")
		})
		if strings.HasSuffix(step.asked, "token") {
			startertest.Await(t, "the terminal to show nothing", changed)
		}
		if _, err := person.WriteString(step.typed); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := person.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	startertest.Await(t, "the last words", func() bool { return strings.Contains(said.String(), "were not written") })
	if cmd.ProcessState.ExitCode() != 1 || changed() {
		t.Errorf("%v; the terminal has changed: %v", err, changed())
	}
	if !strings.Contains(said.String(), "ok    slack token") || strings.Contains(said.String(), "init-secret") {
		t.Errorf("a secret is shown, or was not taken:\n%s", said.String())
	}
}
