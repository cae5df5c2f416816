package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/operate/operator"
	"myao/internal/runtime/pause"
	"myao/internal/store"
)

type channelPurge struct {
	Channel string `arg:"" help:"The channel: its id, or its name with or without #."`
	teamFlag
	confirmFlag
	byFlag
	temporalFlags
	output
}

// Help implements kong's Help.
func (channelPurge) Help() string {
	return `Examples:
  starter channel purge '#old-project' --yes
  starter channel purge C0123ABCD --yes --by carol

What waits in the channel is dropped. Then its messages, reactions, replies, decisions, orders and
memories are deleted for good, and the memories of the workspace that were made from it. What its
model calls cost stays, and so does a mute. Slack's own copy is untouched, and does not come back
when it is read. If the bot is still in the channel, what is said from now on is stored: to stop
that, remove the bot from the channel first. It may be interrupted, and can be repeated.`
}

// Validate implements kong's Validate.
func (c *channelPurge) Validate() error { return c.checkTimeout() }

// purgeReport is what channel purge did.
type purgeReport struct {
	Channel string         `json:"channel"`
	Deleted map[string]int `json:"deleted"` // rows, by table
	Member  bool           `json:"member"`  // the bot is still in it
}

func (c *channelPurge) run(ctx context.Context, p *program) error {
	db, where, name, err := p.conversation(ctx, conversationArg{Channel: c.Channel})
	if err != nil {
		return err
	}
	o, err := p.operator(ctx, c.temporalFlags)
	if err != nil {
		return err
	}
	if err := c.confirm(p, "Delete everything that is stored of "+name+", for good?"); err != nil {
		return err
	}
	known, err := db.Channels(ctx, where.Team, []string{where.Channel})
	if err != nil {
		return err
	}
	if err := c.dropAll(ctx, o, where); err != nil {
		return err
	}
	progress := &sweepProgress{w: p.stderr}
	if err := c.purge(ctx, db, where, progress); err != nil {
		return err
	}
	out := purgeReport{Channel: where.Channel, Deleted: progress.changed, Member: known[where.Channel].Member}
	return c.print(p.stdout, out, func(w io.Writer) error {
		text := fmt.Sprintf("%s is purged: %s", name, progress.total())
		if out.Member {
			text += ". The bot is still in it, and stores what is said from now on"
		}
		_, err := fmt.Fprintln(w, text)
		return err
	})
}

// dropAll drops what waits in the channel and its threads.
func (c *channelPurge) dropAll(ctx context.Context, o *operator.Operator, where chat.Conversation) error {
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	open, err := o.Open(limited, where.Team)
	if err != nil {
		return c.explain(ctx, err)
	}
	open = slices.DeleteFunc(open, func(c chat.Conversation) bool { return c.Channel != where.Channel })
	o.DropIn(ctx, open, c.by(), orderID(), c.Timeout, func(r operator.DropResult) {
		if r.Err != nil && err == nil {
			err = fmt.Errorf("nothing was deleted, because what waits in %s could not be dropped: %w",
				conversationName(r.Conversation, ""), c.explain(ctx, r.Err))
		}
	})
	return err
}

// purge waits until the relay has sent what it has, and purges the channel.
func (c *channelPurge) purge(
	ctx context.Context, db *store.Store, where chat.Conversation, progress *sweepProgress,
) error {
	const again = 200 * time.Millisecond
	id := orderID()
	for until := time.Now().Add(c.Timeout); ; {
		err := db.PurgeChannel(ctx, where.Team, where.Channel, c.by(), id, progress.step)
		if !errors.Is(err, store.ErrInUse) {
			return err
		}
		if time.Now().After(until) || !pause.For(ctx, again) {
			return fmt.Errorf("nothing was deleted: %w. Check that a starter runs, and try again", err)
		}
	}
}
