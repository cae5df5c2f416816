package cli

import (
	"context"
	"fmt"
)

type promisesCancel struct {
	ID string `arg:"" help:"The id of the promise."`
	byFlag
}

// Help implements kong's Help.
func (promisesCancel) Help() string {
	return `Its message in Slack shows who cancelled it. Needs the database only; the message changes when a
starter and a worker run.

  starter promises cancel 1f3870be274f6c49b3e3`
}

func (c *promisesCancel) run(ctx context.Context, p *program) error {
	db, err := p.database(ctx)
	if err != nil {
		return err
	}
	found, first, _, err := db.CancelPromise(ctx, c.ID, c.by())
	if err = checkChoice("promise", c.ID, string(found.State), first, err); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "promise %s is cancelled\n", found.ID)
	return err
}
