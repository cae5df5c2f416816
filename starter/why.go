package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"myao/internal/chat"
	"myao/internal/launch"
	"myao/internal/ledger"
	"myao/internal/store"
)

// whyCommand tells what was said in a conversation, what was decided and why, and what
// became of it.
type whyCommand struct {
	Channel string  `arg:"" help:"The channel: its id, or its name with or without #."`
	Message string  `arg:"" optional:"" placeholder:"TS" help:"The ts of a message. One on which a thread hangs stands for the thread."`
	Since   instant `placeholder:"WHEN" help:"Tell what came since then, such as 24h, 7d or 2026-03-01."`
	Limit   *int    `placeholder:"N" help:"Tell of so many messages, the newest (50; with --since 1000, which is the most)."`
	Text    bool    `help:"Tell what was said, too."`
	output
}

// Help is shown below the usage.
func (whyCommand) Help() string {
	return `Examples:
  starter why '#general'                      the top level of a channel
  starter why general 1700000000.000100       a thread, or what concerns one message
  starter why C0123456789 --since 24h --text
  starter why general --json | jq '.entries[].decision | select(. != null)'

Of a silence that nobody decided about it is told why: a bot's message where the
channel's bots setting is ignore, or what was said before the bot knew the channel.`
}

// Validate is kong's way to be told what does not go together.
func (c *whyCommand) Validate() error {
	switch {
	case c.Message != "" && !chat.ValidTS(c.Message):
		return fmt.Errorf("%q: want the ts of a message, such as 1700000000.000100", c.Message)
	case c.Limit != nil:
		return checkLimit(*c.Limit, maxMessages)
	}
	return nil
}

// maxMessages is the most messages that are told of, and as many are where --since says from
// when on. What became of many more would not be read to its end (ledger.Read).
const maxMessages = 1000

func (c *whyCommand) run(ctx context.Context, p launch.Program, stdout io.Writer) (err error) {
	db, err := p.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	in, err := resolveConversation(ctx, p, db, c.Channel, "")
	if err != nil {
		return err
	}
	settings, err := storedSettings(ctx, p.Config, db, in)
	if err != nil {
		return err
	}
	o := ledger.Options{
		MessageTS: c.Message, Text: c.Text, Prices: p.Config.LLM.Prices, LedgerSince: p.Config.Retention.LedgerSince(time.Now()),
		Settings: settings,
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
	story, err := ledger.Read(ctx, db, in, o)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("message %s of %s is not known: the bot has never heard of it", c.Message, in.Channel)
	}
	if err != nil {
		return err
	}
	return c.print(stdout, story, func(w io.Writer) error { return story.Text(w, p.Config.Location()) })
}
