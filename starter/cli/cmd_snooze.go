package cli

import (
	"context"
	"fmt"
	"time"

	"myao/internal/conversation"
	"myao/internal/operate/chatops"
)

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
