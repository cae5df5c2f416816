package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/chatops"
	"myao/internal/conversation"
	"myao/internal/launch"
	"myao/internal/ledger"
	"myao/internal/operator"
)

// orderFlags is what all commands have that tell a conversation what to do.
type orderFlags struct {
	conversationArg
	byFlag
	temporalFlags
	output
}

// Validate is kong's way to be told what cannot be.
func (c *orderFlags) Validate() error {
	if err := c.conversationArg.Validate(); err != nil {
		return err
	}
	return c.temporalFlags.checkTimeout()
}

type answerNowCommand struct{ orderFlags }

// Help is kong's way to be told more.
func (answerNowCommand) Help() string {
	return `A reply that is held back is posted at once; what waits for a judgment is answered without
one. Where nothing waits, that is refused.

  starter answer-now general
  starter answer-now '#general' 1700000000.000100`
}

func (c *answerNowCommand) run(ctx context.Context, p launch.Program, stdout io.Writer) error {
	return c.send(ctx, p, stdout, conversation.UpdateAnswerNow, 0)
}

type dropCommand struct{ orderFlags }

// Help is kong's way to be told more.
func (dropCommand) Help() string {
	return `What is being waited for, judged, held back or composed comes to nothing; a reply that is
being posted is not called back. What is said afterwards is attended to as ever, and so is
what has been said since that reply was begun.

  starter drop general
  starter drop C0123456789 1700000000.000100`
}

func (c *dropCommand) run(ctx context.Context, p launch.Program, stdout io.Writer) error {
	return c.send(ctx, p, stdout, conversation.UpdateDrop, 0)
}

type snoozeCommand struct {
	For snoozeDuration `required:"" placeholder:"DURATION" help:"For how long: 90m, 2h, 1d12h; a year at the most."`
	orderFlags
}

// Help is kong's way to be told more.
func (snoozeCommand) Help() string {
	return `The bot is silent for so long, even to who addresses it, and what waits is dropped. A
channel's top level stands for its threads, too.

  starter snooze --for 2h general
  starter snooze --for 90m general 1700000000.000100`
}

func (c *snoozeCommand) run(ctx context.Context, p launch.Program, stdout io.Writer) error {
	d, err := c.For.duration()
	if err != nil {
		return err
	}
	return c.send(ctx, p, stdout, conversation.UpdateSnooze, int(d/time.Second))
}

type muteCommand struct{ orderFlags }

// Help is kong's way to be told more.
func (muteCommand) Help() string {
	return `The bot is silent until it is unmuted, even to who addresses it, and what waits is dropped.
A channel's top level stands for its threads, too.

  starter mute general
  starter mute general 1700000000.000100 --by carol`
}

func (c *muteCommand) run(ctx context.Context, p launch.Program, stdout io.Writer) error {
	return c.send(ctx, p, stdout, conversation.UpdateMute, 0)
}

type unmuteCommand struct{ orderFlags }

// Help is kong's way to be told more.
func (unmuteCommand) Help() string {
	return `It ends a mute or a snooze. A thread of a channel that is silent itself stays silent, which is said.

  starter unmute general`
}

func (c *unmuteCommand) run(ctx context.Context, p launch.Program, stdout io.Writer) error {
	return c.send(ctx, p, stdout, conversation.UpdateUnmute, 0)
}

// orderResult is an order as it is printed.
type orderResult struct {
	Conversation chat.Conversation `json:"conversation"`
	Order        string            `json:"order"`
	ID           string            `json:"id"`
	By           string            `json:"by"`
	// Silenced is until when the conversation is silent now by itself, whatever its channel is.
	Silenced time.Time `json:"silenced_until,omitzero"`
	// ChannelSilenced is until when the channel of a thread is silent, and with it the thread.
	ChannelSilenced time.Time `json:"channel_silenced_until,omitzero"`
}

func (c *orderFlags) send(ctx context.Context, p launch.Program, stdout io.Writer, update string, seconds int) (err error) {
	d, done, err := c.connect(ctx, p, c.conversationArg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	out := orderResult{Conversation: d.conversation, Order: update, ID: orderID(), By: c.by()}
	waiting, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	if err := d.operator.Order(waiting, d.conversation, update, conversation.Order{By: out.By, Seconds: seconds}, out.ID); err != nil {
		return c.explain(ctx, err)
	}
	silenced, err := d.store.Silenced(ctx, d.conversation)
	if err != nil {
		return err
	}
	out.Silenced = silenced[d.conversation.ID()]
	if !d.conversation.TopLevel() {
		out.ChannelSilenced = silenced[d.conversation.Top().ID()]
	}
	return c.print(stdout, out, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, out.text(d.name, c.Channel, p.Config.Location(), time.Now()))
		return err
	})
}

// explain is reaching's, of an order.
func (c orderFlags) explain(ctx context.Context, err error) error {
	told := c.temporalFlags.explain(ctx, err)
	if errors.Is(err, operator.ErrNoWorker) {
		return fmt.Errorf("%w What was ordered may yet be carried out by the next one", told)
	}
	return told
}

// text is the order for people: name is the conversation's, channel what the command
// line calls its channel.
func (o orderResult) text(name, channel string, zone *time.Location, now time.Time) string {
	line := fmt.Sprintf("%s: done in %s, by %s", o.Order, name, ledger.Plain(o.By))
	switch {
	case o.Order == conversation.UpdateSnooze:
		line += ", until " + formatTime(o.Silenced, zone)
	case o.Order == conversation.UpdateUnmute && now.Before(o.ChannelSilenced):
		line += fmt.Sprintf("\nThe thread stays silent with its channel until %s: starter unmute %s ends that",
			silent(o.ChannelSilenced, zone, now), strings.TrimPrefix(channel, "#"))
	}
	return line
}

// snoozeDuration is a time as a command line names it: as people say it in Slack (90m, 2h, 1d12h), or to the second.
type snoozeDuration string

func (l snoozeDuration) duration() (time.Duration, error) {
	if d, ok := chatops.ParseDuration(string(l)); ok {
		return d, nil
	}
	d, err := time.ParseDuration(string(l))
	if err != nil || d < time.Second || d > conversation.MaxSnooze || d%time.Second != 0 {
		return 0, fmt.Errorf("%q: want a time such as 90m, 2h or 1d12h, from a second to a year", string(l))
	}
	return d, nil
}

// Validate is kong's way to be told what is no length.
func (l snoozeDuration) Validate() error {
	if l == "" {
		return nil
	}
	_, err := l.duration()
	return err
}
