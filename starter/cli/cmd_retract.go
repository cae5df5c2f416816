package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"myao/internal/operate/chatops"
	"myao/internal/operate/retract"
	"myao/internal/operate/timeline"
	"myao/internal/slack"
)

// retractCommand deletes in Slack what the bot said.
type retractCommand struct {
	Channel string        `arg:"" help:"The channel: its id, or its name with or without #. Or the message's link (Copy link), without TS."`
	Message string        `arg:"" optional:"" placeholder:"TS" help:"The message: its ts or its link."`
	Timeout time.Duration `default:"60s" help:"How long to try (${default})."`
	teamFlag
	byFlag
	output
}

// Help implements kong's Help.
func (retractCommand) Help() string {
	return `Examples:
  starter retract general 1700000000.000100
  starter retract https://example.slack.com/archives/C0123456789/p1700000000000100

The message is deleted in Slack, and its text from the database. A reply in several messages goes
whole, whichever of them is named, and what is not posted of it yet is not posted any more. Name
somebody else's message to take back the reaction with which the bot answered it; without one, it is
refused. Memories made of it stay until starter memory forget. After
an error, give the command again: it does the rest.`
}

// Validate implements kong's Validate.
func (c *retractCommand) Validate() error {
	if _, _, err := c.target(); err != nil {
		return err
	}
	return temporalFlags{Timeout: c.Timeout}.checkTimeout()
}

// target returns the channel, by id or name, and the ts of the message.
func (c *retractCommand) target() (channel, ts string, err error) {
	channel = c.Channel
	linked, ts, ok := chatops.ParseMessage(cmp.Or(c.Message, c.Channel))
	switch {
	case c.Message == "" && (!ok || linked == ""):
		return "", "", fmt.Errorf("%q: want the ts of a message after it, or the link of a message", c.Channel)
	case !ok:
		return "", "", fmt.Errorf("%q: want the ts of a message, such as 1700000000.000100, or its link", c.Message)
	case c.Message == "":
		channel = linked
	case linked != "" && linked != channel:
		return "", "", fmt.Errorf("the link is of channel %s, not of %q: leave out the channel", linked, channel)
	}
	return channel, ts, nil
}

// retracted is what was retracted.
type retracted struct {
	Channel string   `json:"channel"`
	Message string   `json:"ts"`
	ID      string   `json:"id"`
	By      string   `json:"by"`
	Deleted []string `json:"deleted"`
	// Reactions are the names of the emoji that were taken back.
	Reactions []string `json:"reactions,omitempty"`
	Unposted  int      `json:"unposted"`
}

func (c *retractCommand) run(ctx context.Context, p *program) error {
	channel, ts, err := c.target()
	if err != nil {
		return err
	}
	db, in, name, err := p.conversation(ctx, conversationArg{Channel: channel})
	if err != nil {
		return err
	}
	out := retracted{Channel: in.Channel, Message: ts, ID: orderID(), By: c.by()}
	trying, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	w, err := p.workspace(trying, in.Team)
	if err != nil {
		return err
	}
	r := retract.Retractor{Own: w.Own, Slack: w.Slack, Store: db, Clock: time.Now}
	done, err := r.Retract(trying, retract.Order{Team: in.Team, Channel: in.Channel, TS: ts, By: out.By, ID: out.ID})
	if err != nil {
		return notRetracted(err, done, ts, name)
	}
	out.Deleted, out.Reactions, out.Unposted = append([]string{}, done.Deleted...), done.Reactions, done.Unposted
	return c.print(p.stdout, out, func(w io.Writer) error {
		line := fmt.Sprintf("%d deleted in %s, by %s", len(out.Deleted), name, timeline.Plain(out.By))
		if len(out.Reactions) > 0 {
			line = fmt.Sprintf(":%s: taken back from %s in %s, by %s", strings.Join(out.Reactions, ": and :"), ts,
				name, timeline.Plain(out.By))
		}
		if out.Unposted > 0 {
			line += fmt.Sprintf("; %d more parts of the reply are not posted", out.Unposted)
		}
		_, err := fmt.Fprintln(w, line)
		return err
	})
}

// notRetracted says what went wrong and what to do.
func notRetracted(err error, done retract.Result, ts, channel string) error {
	refused, ok := errors.AsType[*slack.Error](err)
	switch {
	case errors.Is(err, retract.ErrNotOwn), ok && refused.Code == "cant_delete_message":
		return fmt.Errorf("message %s of %s is not the bot's own: nothing was deleted", ts, channel)
	case errors.Is(err, retract.ErrUnknown):
		return fmt.Errorf("there is no message %s in %s", ts, channel)
	}
	return fmt.Errorf("message %s of %s: %d deleted, then: %w. What is not posted yet stays unposted; give the "+
		"command again for the rest", ts, channel, len(done.Deleted), err)
}
