package cli

import (
	"context"
	"time"

	"myao/internal/store"
)

type proposalsList struct {
	Channel string `placeholder:"CHANNEL" help:"Only those of this channel: its id, or its name with or without #."`
	All     bool   `help:"Those that have ended, too."`
	Limit   int    `default:"50" placeholder:"N" help:"The newest N proposals (${default}), up to 10000."`
	teamFlag
	output
}

// Help implements kong's Help.
func (proposalsList) Help() string {
	return `A proposal is open until somebody decides by its buttons in Slack. An approved one is done at most
once; whether one whose state is unknown was done, only what it is about can tell.

  starter proposals list
  starter proposals list --all --channel '#general' --json | jq '.[] | select(.state == "unknown")'`
}

// Validate implements kong's Validate.
func (c *proposalsList) Validate() error { return checkLimit(c.Limit, maxListed) }

func (c *proposalsList) run(ctx context.Context, p *program) error {
	return listChoices(ctx, p, c.output, c.Channel, store.ChoiceFilter{All: c.All, Limit: c.Limit},
		(*store.Store).Proposals, "LAPSES", "DECIDED BY", func(f *store.Proposal, zone *time.Location) choiceRow {
			return choiceRow{&f.Choice, string(f.State), formatTime(f.Lapses(), zone), f.DecidedBy, f.Tool + " " + f.Input}
		})
}
