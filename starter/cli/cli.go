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

// configTag is the tag of a command that is not to have the configuration read for it: config:"none".
const configTag = "config"

// commands is the command line.
type commands struct {
	Config string `default:"config.yaml" placeholder:"FILE" help:"The configuration (${default})."`

	Serve serveCommand `cmd:"" config:"none" default:"1" help:"Receive Slack's events and relay them to conversations. This is the default."`

	Conversations conversationsCommand `cmd:"" help:"List the open conversations with their phases, and when they are due."`
	Show          showCommand          `cmd:"" help:"Show the state of a conversation."`
	AnswerNow     answerNowCommand     `cmd:"" help:"Have the bot answer now what is waiting in a conversation."`
	Drop          dropCommand          `cmd:"" help:"Drop what is waiting in a conversation, or in all."`
	Snooze        snoozeCommand        `cmd:"" help:"Silence the bot in a conversation for a while."`
	Mute          muteCommand          `cmd:"" help:"Silence the bot in a conversation, or everywhere, until it is unmuted."`
	Unmute        unmuteCommand        `cmd:"" help:"End a mute or a snooze."`

	Rehear  rehearCommand  `cmd:"" help:"Hand messages to their conversations again about which nothing was decided, as after these were terminated."`
	Retract retractCommand `cmd:"" help:"Delete in Slack what the bot said."`

	Prompt    promptCommand    `cmd:"" help:"Print what a model would be sent and, with --ask, what it answers. Nothing is posted."`
	Why       whyCommand       `cmd:"" help:"Show the messages of a conversation, the decisions with their reasons, their cost and their outcome."`
	Channels  channelsCommand  `cmd:"" help:"List the channels with their budgets, or show where each setting of a channel comes from."`
	Channel   channelCommand   `cmd:"" help:"Delete what the database holds of a channel."`
	Usage     usageCommand     `cmd:"" help:"Sum up model calls, tokens and cost."`
	Memory    memoryCommand    `cmd:"" help:"Show, correct, roll back or forget memories."`
	Person    personCommand    `cmd:"" help:"Export or delete what the database holds of a person."`
	Notes     notesCommand     `cmd:"" help:"List what people asked the bot to remember in a channel, or take it back."`
	Proposals proposalsCommand `cmd:"" help:"List what the bot proposes to do, or decide that it is not done."`
	Promises  promisesCommand  `cmd:"" help:"List what the bot has promised, cancel it, or move it to another time."`
	Tools     toolsCommand     `cmd:"" help:"List the tools of MCP servers, allow those that have changed, or call one."`
	Eval      evalCommand      `cmd:"" help:"Measure how well a model judges when to speak, with labelled conversations."`
	Label     labelCommand     `cmd:"" help:"Show how far hindsight can be believed, or label decisions yourself: whether the bot should have spoken."`
	Tune      tuneCommand      `cmd:"" help:"Find the min_confidence by which errors would have cost least. Nothing is changed."`
	Shadow    shadowCommand    `cmd:"" help:"Compare other judges with the one that decides: agreement, disagreements with their reasons, and cost."`
	Init      initCommand      `cmd:"" config:"none" help:"Ask what a new installation needs, check it, and write config.yaml, .env and the Slack app's manifest."`
	Doctor    doctorCommand    `cmd:"" help:"Check everything that the bot needs, and say how to fix what is wrong. Nothing is changed."`
	Migrate   migrateCommand   `cmd:"" help:"Bring the tables of the database up to date."`
	Manifest  manifestCommand  `cmd:"" help:"Print the manifest of the Slack app that the configuration needs."`
	Codec     codecCommand     `cmd:"" help:"Run the codec server, which decrypts payloads for Temporal's Web UI and CLI."`
	Health    healthCommand    `cmd:"" config:"none" help:"Ask a starter or a worker whether it is ready. Needs no configuration."`

	Completion completionCommand `cmd:"" config:"none" help:"Print a script that completes this command line in bash, zsh or fish. Needs no configuration."`
	Version    versionCommand    `cmd:"" config:"none" help:"Print the version. Needs no configuration."`
}

// Run runs a command line. It returns the exit status: 2 for an invalid command line.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var c commands
	exit := -1 // the status with which kong ends the program, after --help
	parser, err := kong.New(&c, kong.Name("starter"), kong.Writers(stdout, stderr), kong.Exit(func(status int) { exit = status }),
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
	return p.do(ctx, chosen.Target.Addr().Interface().(command), chosen.Tag.Get(configTag) != "none")
}
