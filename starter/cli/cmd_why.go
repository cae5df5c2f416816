package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"myao/internal/chat"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// whyCommand shows the messages of a conversation, the decisions with their reasons, and their
// outcome.
type whyCommand struct {
	Channel string  `arg:"" help:"The channel: its id, or its name with or without #."`
	Message string  `arg:"" optional:"" placeholder:"TS" help:"The ts of a message. A thread's parent message means the thread."`
	Since   instant `placeholder:"WHEN" help:"Start there: 24h, 7d or 2026-03-01, for example."`
	Limit   *int    `placeholder:"N" help:"Show the newest N messages (50; at most 1000, the default with --since)."`
	Text    bool    `help:"Show the texts too."`
	teamFlag
	output
}

// Help implements kong's Help.
func (whyCommand) Help() string {
	return `Examples:
  starter why '#general'                      the top level of a channel
  starter why general 1700000000.000100       a thread, or a single message
  starter why C0123456789 --since 24h --text
  starter why general --json | jq '.entries[].decision | select(. != null)'

It also explains silence without a decision: the channel's mode is off or mention, it ignores other
bots, or the message is from before the bot knew the channel.`
}

// Validate implements kong's Validate.
func (c *whyCommand) Validate() error {
	switch {
	case c.Message != "" && !chat.ValidTS(c.Message):
		return fmt.Errorf("%q: want the ts of a message, such as 1700000000.000100", c.Message)
	case c.Limit != nil:
		return checkLimit(*c.Limit, maxMessages)
	}
	return nil
}

// maxMessages bounds --limit, and is its default with --since. The outcomes of more messages
// would not be read to the end (timeline.Read).
const maxMessages = 1000

func (c *whyCommand) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, "")
	if err != nil {
		return err
	}
	in := chat.Conversation(scope)
	settings, err := storedSettings(ctx, p.Config, db, in)
	if err != nil {
		return err
	}
	o := timeline.Options{
		MessageTS: c.Message, Text: c.Text, Prices: p.Config.LLM.Prices,
		LedgerSince: p.Config.Retention.LedgerSince(time.Now()),
		Settings:    settings,
	}
	if c.Since != "" {
		if o.Since, err = c.Since.time(time.Now(), p.Config.Location()); err != nil {
			return err
		}
		o.Limit = maxMessages
	}
	if c.Limit != nil {
		o.Limit = *c.Limit
	}
	story, err := timeline.Read(ctx, db, in, o)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("message %s of %s is not in the database", c.Message, in.Channel)
	}
	if err != nil {
		return err
	}
	return c.print(p.stdout, story, func(w io.Writer) error { return story.Text(w, p.Config.Location()) })
}
