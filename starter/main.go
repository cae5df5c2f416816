// Command starter is Temporal's client side: the door through which Slack's
// events come in, the relay that carries them to the conversations, the schedules,
// and the commands of who operates it. Any number of starters may run against one
// Temporal namespace and one database.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"myao/internal/launch"
)

func main() {
	launch.Main(func(ctx context.Context, args []string, stderr io.Writer) int {
		return run(ctx, args, os.Stdout, stderr)
	})
}

// commands is the command line. What has a run method is done and over; the rest serves.
type commands struct {
	Config string `default:"config.yaml" placeholder:"FILE" help:"The configuration (${default})."`

	Serve struct{} `cmd:"" default:"1" help:"Take in Slack's events and carry them on: what is done without a command."`

	Prompt promptCommand `cmd:"" help:"Print what a model would be sent, and with --ask what it answers; nothing is posted."`
	Codec  codecCommand  `cmd:"" help:"Serve the codec server, by which Temporal's Web UI and CLI show what is encrypted."`
}

// command is one that needs no more than the configuration.
type command interface {
	run(ctx context.Context, p launch.Program, stdout io.Writer) error
}

// run is main without the process: it returns the exit status, which is 2 for a
// command line that is not understood.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c commands
	helped := -1
	parser, err := kong.New(&c, kong.Name("starter"), kong.Writers(stdout, stderr), kong.Exit(func(status int) { helped = status }),
		kong.Description("The door through which Slack's events come in, and the commands of who operates the bot."))
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return 1
	}
	parsed, err := parser.Parse(args)
	if helped >= 0 {
		return helped
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "starter: %v\n", err)
		var wrong *kong.ParseError
		if errors.As(err, &wrong) {
			_, _ = fmt.Fprintf(stderr, "starter --help lists what there is\n")
		}
		return 2
	}
	chosen := parsed.Selected()
	if do, ok := chosen.Target.Addr().Interface().(command); ok {
		name := "starter " + strings.TrimPrefix(chosen.FullPath(), "starter ")
		return launch.Command(ctx, name, c.Config, stderr, func(ctx context.Context, p launch.Program) error {
			return do.run(ctx, p, stdout)
		})
	}
	return launch.Start(ctx, "starter", c.Config, stderr, serve)
}
