package cli

import (
	"context"
	"fmt"

	"myao/internal/conversation"
	"myao/internal/store"
)

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
	if err == nil && !first && found.State == store.ProposalOpen {
		return fmt.Errorf("proposal %s has lapsed: nothing comes of it", found.ID)
	}
	if err = checkChoice("proposal", c.ID, string(found.State), first, err); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "proposal %s is cancelled\n", found.ID)
	return err
}
