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

	Serve serveCommand `cmd:"" default:"1" help:"Take in Slack's events and carry them on: what is done without a command."`

	Conversations conversationsCommand `cmd:"" help:"List the conversations that run: where they stand, and when they are due."`
	Show          showCommand          `cmd:"" help:"Show where a conversation stands."`
	AnswerNow     answerNowCommand     `cmd:"" help:"Have the bot answer at once what is being waited for."`
	Drop          dropCommand          `cmd:"" help:"Give up whatever waits in a conversation."`
	Snooze        snoozeCommand        `cmd:"" help:"Have the bot be silent in a conversation for some time."`
	Mute          muteCommand          `cmd:"" help:"Have the bot be silent in a conversation until it is unmuted."`
	Unmute        unmuteCommand        `cmd:"" help:"End a mute or a snooze."`

	Prompt   promptCommand   `cmd:"" help:"Print what a model would be sent, and with --ask what it answers; nothing is posted."`
	Why      whyCommand      `cmd:"" help:"Tell what was said in a conversation, what was decided and why, what that cost and what became of it."`
	Channels channelsCommand `cmd:"" help:"List the channels and what they may cost, or tell where each setting of one comes from."`
	Usage    usageCommand    `cmd:"" help:"Sum up the calls of models, their tokens and what they cost."`
	Memory   memoryCommand   `cmd:"" help:"Look at what is remembered, correct it, put an old version in force, or have it forgotten."`
	Doctor   doctorCommand   `cmd:"" help:"Look at everything that the bot needs, and say how to mend what is not right; nothing is changed."`
	Manifest manifestCommand `cmd:"" help:"Print the manifest of the Slack app that the configuration needs."`
	Codec    codecCommand    `cmd:"" help:"Serve the codec server, by which Temporal's Web UI and CLI show what is encrypted."`
	Health   healthCommand   `cmd:"" help:"Ask a starter or a worker whether it is ready; needs no configuration."`
}

// command is one that needs no more than the configuration.
type command interface {
	run(ctx context.Context, p launch.Program, stdout io.Writer) error
}

// standalone is a command that needs nothing, not even the configuration.
type standalone interface {
	runStandalone(ctx context.Context, stdout io.Writer) error
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
		if _, ok := errors.AsType[*kong.ParseError](err); ok {
			_, _ = fmt.Fprintf(stderr, "starter --help lists what there is\n")
		}
		return 2
	}
	chosen := parsed.Selected()
	name := "starter " + strings.TrimPrefix(chosen.FullPath(), "starter ")
	switch do := chosen.Target.Addr().Interface().(type) {
	case standalone:
		if err := do.runStandalone(ctx, stdout); err != nil {
			_, _ = fmt.Fprintf(stderr, "%s: %v\n", name, err)
			return 1
		}
		return 0
	case command:
		return launch.Command(ctx, name, c.Config, stderr, func(ctx context.Context, p launch.Program) error {
			return do.run(ctx, p, stdout)
		})
	}
	return launch.Start(ctx, "starter", c.Config, stderr, serve)
}
