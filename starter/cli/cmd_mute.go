package cli

import (
	"cmp"
	"context"

	"myao/internal/conversation"
)

type muteCommand struct {
	placeArg
	Everywhere bool `help:"In the whole workspace. Needs the database only."`
	orderFlags
}

// Help implements kong's Help.
func (muteCommand) Help() string {
	return `The bot stays silent until it is unmuted, even when addressed. What is waiting there is dropped.
Without a thread, the order applies to the channel, and its threads are silent, too: what is due in
them meanwhile is silenced.

  starter mute general
  starter mute general 1700000000.000100 --by carol
  starter mute --everywhere

With --everywhere, nothing more is posted anywhere, neither replies that are composed already nor
the rest of a long one, until starter unmute --everywhere. It works without Temporal and without a
worker. What waits is not dropped, but is silenced if it is due meanwhile.`
}

// Validate implements kong's Validate.
func (c *muteCommand) Validate() error {
	return cmp.Or(c.check(c.Everywhere, "--everywhere"), c.checkTimeout())
}

func (c *muteCommand) run(ctx context.Context, p *program) error {
	if c.Everywhere {
		return c.everywhere(ctx, p, conversation.UpdateMute)
	}
	return c.send(ctx, p, conversationArg(c.placeArg), conversation.UpdateMute, 0)
}
