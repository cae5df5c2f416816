package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/operate/chatops"
	"myao/internal/operate/operator"
	"myao/internal/operate/timeline"
)

// orderFlags are the flags of every order to a conversation.
type orderFlags struct {
	byFlag
	temporalFlags
	output
}

// orderCommand is the command line of an order to one conversation.
type orderCommand struct {
	conversationArg
	orderFlags
}

// Validate implements kong's Validate.
func (c *orderCommand) Validate() error {
	if err := c.conversationArg.Validate(); err != nil {
		return err
	}
	return c.checkTimeout()
}

type answerNowCommand struct{ orderCommand }

// Help implements kong's Help.
func (answerNowCommand) Help() string {
	return `A delayed reply is posted now. Messages that wait for a judgment are answered without one. The
order is refused if nothing is waiting.

  starter answer-now general
  starter answer-now '#general' 1700000000.000100`
}

func (c *answerNowCommand) run(ctx context.Context, p *program) error {
	return c.send(ctx, p, c.conversationArg, conversation.UpdateAnswerNow, 0)
}

type dropCommand struct {
	placeArg
	All bool `help:"Drop what is waiting in all open conversations."`
	Yes bool `help:"With --all: do not ask first."`
	orderFlags
}

// Help implements kong's Help.
func (dropCommand) Help() string {
	return `Waiting messages, a judgment, a delayed reply and a reply being composed are dropped. A reply that
is being posted is not withdrawn. Messages sent later, and those sent since that reply was begun,
are handled as usual.

  starter drop general
  starter drop C0123456789 1700000000.000100
  starter drop --all --yes

With --all, messages that Temporal does not know yet are not among what is dropped: mute the bot
everywhere first.`
}

// Validate implements kong's Validate.
func (c *dropCommand) Validate() error {
	if c.Yes && !c.All {
		return errors.New("--yes needs --all")
	}
	return cmp.Or(c.check(c.All, "--all"), c.checkTimeout())
}

func (c *dropCommand) run(ctx context.Context, p *program) error {
	if c.All {
		return c.dropAll(ctx, p)
	}
	return c.send(ctx, p, conversationArg(c.placeArg), conversation.UpdateDrop, 0)
}

type snoozeCommand struct {
	For snoozeDuration `required:"" placeholder:"DURATION" help:"For how long: 90m, 2h or 1d12h; at most a year."`
	orderCommand
}

// Help implements kong's Help.
func (snoozeCommand) Help() string {
	return `The bot stays silent for that long, even when addressed. What is waiting there is dropped. Without
a thread, the order applies to the channel, and its threads are silent, too: what is due in them
meanwhile is silenced.

  starter snooze --for 2h general
  starter snooze --for 90m general 1700000000.000100`
}

func (c *snoozeCommand) run(ctx context.Context, p *program) error {
	d, err := c.For.duration()
	if err != nil {
		return err
	}
	return c.send(ctx, p, c.conversationArg, conversation.UpdateSnooze, int(d/time.Second))
}

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

// orderResult is an order that was carried out.
type orderResult struct {
	Conversation chat.Conversation `json:"conversation"`
	Order        string            `json:"kind"`
	ID           string            `json:"id"`
	By           string            `json:"by"`
	// Silenced is the end of the conversation's own mute or snooze, if any.
	Silenced time.Time `json:"silenced_until,omitzero"`
	// ChannelSilenced is, for a thread, the end of its channel's mute or snooze, if any.
	ChannelSilenced time.Time `json:"channel_silenced_until,omitzero"`
	// EverywhereSilenced is the end of a mute of the whole workspace, if any.
	EverywhereSilenced time.Time `json:"everywhere_silenced_until,omitzero"`
}

func (c *orderFlags) send(ctx context.Context, p *program, in conversationArg, update string, seconds int) error {
	db, where, name, err := p.conversation(ctx, in)
	if err != nil {
		return err
	}
	o, err := p.operator(ctx, c.temporalFlags)
	if err != nil {
		return err
	}
	out := orderResult{Conversation: where, Order: update, ID: orderID(), By: c.by()}
	waiting, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	if err := o.Order(waiting, where, update, conversation.Order{By: out.By, Seconds: seconds}, out.ID); err != nil {
		return c.explain(ctx, err)
	}
	silenced, err := db.Silenced(ctx, where)
	if err != nil {
		return err
	}
	out.Silenced, out.EverywhereSilenced = silenced[where.ID()], silenced.Everywhere(where.Team)
	if !where.TopLevel() {
		out.ChannelSilenced = silenced[where.Top().ID()]
	}
	return c.print(p.stdout, out, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, out.text(name, in.Channel, p.Config.Location(), time.Now()))
		return err
	})
}

// explain adds to temporalFlags.explain what may become of the order.
func (c orderFlags) explain(ctx context.Context, err error) error {
	explained := c.temporalFlags.explain(ctx, err)
	if errors.Is(err, operator.ErrNoWorker) {
		return fmt.Errorf("%w; the next worker may still carry out the order", explained)
	}
	return explained
}

// text describes the result. name is the conversation's name; channel is the channel as typed.
func (o orderResult) text(name, channel string, zone *time.Location, now time.Time) string {
	line := fmt.Sprintf("%s: done in %s, by %s", o.Order, name, timeline.Plain(o.By))
	switch {
	case o.Order == conversation.UpdateSnooze:
		line += ", until " + formatTime(o.Silenced, zone)
	case o.Order == conversation.UpdateUnmute && now.Before(o.ChannelSilenced):
		line += fmt.Sprintf("\nThe thread stays silent with its channel until %s. To end that: starter unmute %s",
			silent(o.ChannelSilenced, zone, now), strings.TrimPrefix(channel, "#"))
	}
	if o.Order == conversation.UpdateUnmute && now.Before(o.EverywhereSilenced) {
		line += "\nThe bot stays silent everywhere until it is unmuted. To end that: starter unmute --everywhere"
	}
	return line
}

// snoozeDuration is a duration as in Slack (90m, 2h, 1d12h), or in Go's syntax to the second.
type snoozeDuration string

func (l snoozeDuration) duration() (time.Duration, error) {
	if d, ok := chatops.ParseDuration(string(l)); ok {
		return d, nil
	}
	d, err := time.ParseDuration(string(l))
	if err != nil || d < time.Second || d > conversation.MaxSnooze || d%time.Second != 0 {
		return 0, fmt.Errorf("%q: want a duration such as 90m, 2h or 1d12h, from a second to a year", string(l))
	}
	return d, nil
}

// Validate implements kong's Validate.
func (l snoozeDuration) Validate() error {
	if l == "" {
		return nil
	}
	_, err := l.duration()
	return err
}
