package cli

import (
	"context"
	"fmt"
	"io"

	"myao/internal/operate/timeline"
	"myao/internal/store"
)

type proposalsList struct {
	Channel string `placeholder:"CHANNEL" help:"Only those of this channel: its id, or its name with or without #."`
	All     bool   `help:"Those that have ended, too."`
	Limit   int    `default:"50" placeholder:"N" help:"The newest N proposals (${default}), up to 10000."`
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
	db, scope, err := p.scope(ctx, c.Channel, "")
	if err != nil {
		return err
	}
	found, err := db.Proposals(ctx, store.ProposalFilter{Team: scope.Team, Channel: scope.Channel, All: c.All,
		Limit: c.Limit})
	if err != nil {
		return err
	}
	var ids []string
	for _, f := range found {
		ids = append(ids, f.ChannelID)
	}
	channels, err := db.Channels(ctx, scope.Team, ids)
	if err != nil {
		return err
	}
	rows := [][]string{{"ID", "STATE", "LAPSES", "CONVERSATION", "ASKED BY", "DECIDED BY", "WHAT"}}
	for i, f := range found {
		found[i].ChannelName = channels[f.ChannelID].Name
		rows = append(rows, []string{
			f.ID, string(f.State), formatTime(f.Lapses(), p.Config.Location()),
			conversationName(f.Conversation(), found[i].ChannelName),
			timeline.Plain(f.Asker), timeline.Plain(f.DecidedBy), timeline.Plain(f.Tool + " " + f.Input),
		})
	}
	return c.print(p.stdout, nonNil(found), func(w io.Writer) error {
		if len(found) == 0 {
			_, err := fmt.Fprintln(w, "none")
			return err
		}
		return table(w, rows)
	})
}
