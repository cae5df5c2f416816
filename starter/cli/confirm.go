package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
)

// confirmFlag is the flag of a command that cannot be undone.
type confirmFlag struct {
	Yes bool `help:"Do not ask first."`
}

// confirm asks a question, unless --yes answers it. Any answer but yes is an error.
func (c confirmFlag) confirm(p *program, question string) error {
	if c.Yes {
		return nil
	}
	_, _ = fmt.Fprint(p.stderr, question+" Type yes: ")
	if answer, _ := bufio.NewReader(p.stdin).ReadString('\n'); strings.TrimSpace(answer) != "yes" {
		return errors.New("nothing was done: want yes, or --yes on the command line")
	}
	return nil
}
