package cli

import (
	"context"
	"time"

	"myao/internal/store"
)

type promisesList struct {
	Channel string `placeholder:"CHANNEL" help:"Only those of this channel and its threads: its id, or its name with or without #."`
	All     bool   `help:"Those that have ended, too; the newest come first."`
	Limit   int    `default:"50" placeholder:"N" help:"At most N promises (${default}), up to 10000."`
	teamFlag
	output
}

// Help implements kong's Help.
func (promisesList) Help() string {
	return `A promise is open from when the message that confirms it is in Slack until it is kept, or ends otherwise:
released (it was settled), withdrawn (the message that asked was deleted), cancelled or failed.

  starter promises list
  starter promises list --all --channel '#general' --json | jq '.[] | select(.state == "failed")'`
}

// Validate implements kong's Validate.
func (c *promisesList) Validate() error { return checkLimit(c.Limit, maxListed) }

func (c *promisesList) run(ctx context.Context, p *program) error {
	return listChoices(ctx, p, c.output, c.Channel, store.ChoiceFilter{All: c.All, Limit: c.Limit},
		(*store.Store).Promises, "DUE", "ENDED BY", func(f *store.Promise, zone *time.Location) choiceRow {
			return choiceRow{&f.Choice, string(f.State), promiseTimes(*f, zone), f.EndedBy, promiseText(*f)}
		})
}
