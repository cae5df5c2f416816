// Package cli is the starter's command line: a file cmd_NAME.go for each command of the operator, and what they share.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Run runs a command line. It returns the exit status: 2 for an invalid command line.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var c commands
	exit := -1 // the status with which kong ends the program, after --help
	parser, err := kong.New(&c, kong.Name("starter"), kong.Writers(stdout, stderr),
		kong.Exit(func(status int) { exit = status }),
		kong.Description("Receives Slack's events, and has the operator's commands."))
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return 1
	}
	if len(args) > 0 && args[0] == completeWord {
		complete(parser.Model.Node, args[1:], stdout)
		return 0
	}
	parsed, err := parser.Parse(args)
	if exit >= 0 {
		return exit
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "starter: %v\n", err)
		if _, ok := errors.AsType[*kong.ParseError](err); ok {
			_, _ = fmt.Fprintf(stderr, "starter --help lists the commands\n")
		}
		return 2
	}
	chosen := parsed.Selected()
	name := "starter " + strings.TrimPrefix(chosen.FullPath(), "starter ")
	p := &program{name: name, path: c.Config, stdin: stdin, stdout: stdout, stderr: stderr}
	run := chosen.Target.Addr().Interface().(command)
	if of, ok := run.(interface{ team() string }); ok {
		p.team = of.team()
	}
	return p.do(ctx, run, chosen.Tag.Get(configTag) != "none")
}
