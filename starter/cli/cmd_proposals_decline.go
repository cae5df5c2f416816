package cli

import (
	"context"
	"errors"
	"fmt"

	"myao/internal/conversation"
	"myao/internal/operate/timeline"
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
