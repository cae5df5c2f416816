package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"myao/internal/chat"
	"myao/internal/store"
)

type memoryForget struct {
	memoryArg
	Message   []string `placeholder:"TS,…" help:"Forget everything made from these messages of the channel, and never remember them."`
	Workspace bool     `help:"Forget the memory of the workspace, if no channel is named."`
	byFlag
	output
}

// Help implements kong's Help.
func (memoryForget) Help() string {
	return `Examples:
  starter memory forget general                              a channel and its threads
  starter memory forget general 1700000000.000100            a thread
  starter memory forget general --message 1700000000.000100
  starter memory forget --workspace

The texts of all versions are deleted for good, and with them whatever may have been made from
them: the memory of the workspace, if the channel is among its sources; and for a thread or a
message, later memories of the channel and of its other threads. These are made again from what
is left. The messages stay: delete them in Slack.`
}

// Validate implements kong's Validate.
func (c *memoryForget) Validate() error {
	for _, ts := range c.Message {
		if !chat.ValidTS(ts) {
			return fmt.Errorf("--message %q: want the ts of a message, such as 1700000000.000100", ts)
		}
	}
	switch {
	case c.Channel == "" && !c.Workspace:
		return errors.New("want a channel or --workspace")
	case c.Channel != "" && c.Workspace:
		return errors.New("--workspace cannot be combined with a channel")
	case len(c.Message) > 0 && c.Channel == "":
		return errors.New("--message needs a channel")
	case len(c.Message) > 0 && c.Thread != "":
		return errors.New("--message cannot be combined with a thread: its ts is enough")
	}
	return checkThread(c.Thread)
}

func (c *memoryForget) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, c.Thread)
	if err != nil {
		return err
	}
	done, err := c.forget(ctx, db, scope)
	if err != nil {
		return err
	}
	return c.print(p.stdout, done, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%d texts deleted\n", done.Versions)
		for _, s := range done.Scopes {
			if err == nil {
				_, err = fmt.Fprintf(w, "no longer current: %s\n", s)
			}
		}
		return err
	})
}

func (c *memoryForget) forget(ctx context.Context, db *store.Store, scope chat.Scope) (store.ForgetResult, error) {
	if len(c.Message) == 0 {
		return db.Forget(ctx, scope, c.by(), orderID())
	}
	known, err := db.MessagesByTS(ctx, scope.Team, scope.Channel, c.Message)
	if err != nil {
		return store.ForgetResult{}, err
	}
	found := map[string]bool{}
	for _, m := range known {
		found[m.TS] = true
	}
	for _, ts := range c.Message {
		if !found[ts] {
			return store.ForgetResult{}, fmt.Errorf("message %s of %s is not in the database", ts, scope.Channel)
		}
	}
	return db.ForgetMessages(ctx, scope.Team, scope.Channel, c.Message, c.by(), orderID())
}
