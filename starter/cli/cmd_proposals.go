package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"myao/internal/conversation"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// proposalsCommand shows what the bot proposes to do, and ends it.
type proposalsCommand struct {
	List    proposalsList    `cmd:"" help:"List what the bot proposes to do and nobody has decided about, or is being done."`
	Decline proposalsDecline `cmd:"" help:"Decide that a proposal is not carried out."`
}

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
	found, err := db.Proposals(ctx, store.ProposalFilter{Team: scope.Team, Channel: scope.Channel, All: c.All, Limit: c.Limit})
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
			f.ID, string(f.State), formatTime(f.Lapses(), p.Config.Location()), conversationName(f.Conversation(), found[i].ChannelName),
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

type proposalsDecline struct {
	ID string `arg:"" help:"The id of the proposal."`
	byFlag
}

// Help implements kong's Help.
func (proposalsDecline) Help() string {
	return `Its message in Slack shows who cancelled it. Needs the database only; the message changes when a
starter and a worker run.

  starter proposals decline 1f3870be274f6c49b3e3`
}

func (c *proposalsDecline) run(ctx context.Context, p *program) error {
	db, err := p.database(ctx)
	if err != nil {
		return err
	}
	found, first, _, err := db.DecideProposal(ctx, c.ID, conversation.Cancelled, c.by())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("there is no proposal %s: `starter proposals list --all` shows them", timeline.Plain(c.ID))
	case err != nil:
		return err
	case !first && found.State == store.ProposalOpen:
		return fmt.Errorf("proposal %s has lapsed: nothing comes of it", found.ID)
	case !first:
		return fmt.Errorf("proposal %s is %s already", found.ID, found.State)
	}
	_, err = fmt.Fprintf(p.stdout, "proposal %s is cancelled\n", found.ID)
	return err
}
