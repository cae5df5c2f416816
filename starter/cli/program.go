package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"go.temporal.io/sdk/client"

	"myao/internal/operate/launch"
	"myao/internal/slack"
	"myao/internal/store"
)

// command is every command of the starter.
type command interface {
	run(ctx context.Context, p *program) error
}

// program is what a command gets. connections.go opens the database, Slack and Temporal, and scope.go finds what a
// command line names.
type program struct {
	launch.Program // the configuration and the log; zero for a command with the tag config:"none"

	name           string // of the command, as starter why
	path           string // of the configuration
	team           string // that --team names, if any
	stdin          io.Reader
	stdout, stderr io.Writer

	store       *store.Store // nil until database is called, and so on
	slackClient *slack.Client
	temporal    client.Client
}

// do runs a command, and returns the exit status.
func (p *program) do(ctx context.Context, c command, needsConfiguration bool) int {
	if needsConfiguration {
		return launch.Command(ctx, p.name, p.path, p.stderr, func(ctx context.Context, read launch.Program) error {
			p.Program = read
			return errors.Join(c.run(ctx, p), p.close())
		})
	}
	err := c.run(ctx, p)
	if status, ok := errors.AsType[exitStatus](err); ok {
		return int(status)
	}
	if err != nil {
		_, _ = fmt.Fprintf(p.stderr, "%s: %v\n", p.name, err)
		return 1
	}
	return 0
}

// exitStatus is the error of a command with the tag config:"none" that has said what is wrong.
type exitStatus int

// Error implements error.
func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// ended is the error of an exit status: nil for 0.
func ended(status int) error {
	if status == 0 {
		return nil
	}
	return exitStatus(status)
}
