package cli

import (
	"cmp"
	"context"

	"myao/internal/conversation"
)

type unmuteCommand struct {
	placeArg
	Everywhere bool `help:"End a mute of the whole workspace."`
	orderFlags
}

// Help implements kong's Help.
func (unmuteCommand) Help() string {
	return `It ends a mute or a snooze. A thread stays silent while its channel is silent, and everything while
the bot is muted everywhere; the output says so.

  starter unmute general
  starter unmute --everywhere

Conversations that are muted themselves stay so after --everywhere. What was silenced meanwhile is
not answered later.`
}

// Validate implements kong's Validate.
func (c *unmuteCommand) Validate() error {
	return cmp.Or(c.check(c.Everywhere, "--everywhere"), c.checkTimeout())
}

func (c *unmuteCommand) run(ctx context.Context, p *program) error {
	if c.Everywhere {
		return c.everywhere(ctx, p, conversation.UpdateUnmute)
	}
	return c.send(ctx, p, conversationArg(c.placeArg), conversation.UpdateUnmute, 0)
}
