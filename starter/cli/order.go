package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
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
