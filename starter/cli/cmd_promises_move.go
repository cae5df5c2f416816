package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"myao/internal/language/when"
	"myao/internal/operate/choice"
	"myao/internal/store"
)

type promisesMove struct {
	ID   string   `arg:"" help:"The id of the promise."`
	When []string `arg:"" help:"When it is due: in 90m, mon 09:00, 2026-11-27 09:00, for example."`
	byFlag
}

// Help implements kong's Help.
func (promisesMove) Help() string {
	return `A local time is of the promise's own time zone, in which it was made. Needs the database only; its message
in Slack changes when a starter and a worker run.

  starter promises move 1f3870be274f6c49b3e3 tomorrow 09:00
  starter promises move 1f3870be274f6c49b3e3 2026-11-27T09:00:00+01:00`
}

func (c *promisesMove) run(ctx context.Context, p *program) error {
	db, err := p.database(ctx)
	if err != nil {
		return err
	}
	found, err := db.Promise(ctx, c.ID)
	if err = checkChoice("promise", c.ID, string(found.State), found.State == store.PromiseOpen, err); err != nil {
		return err
	}
	due, err := when.Parse(strings.Join(c.When, " "), time.Now(), found.Location())
	if err != nil {
		return err
	}
	found, moved, _, err := db.MovePromise(ctx, c.ID, due, c.by())
	if err = checkChoice("promise", c.ID, string(found.State), moved, err); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "promise %s is due on %s\n", found.ID,
		choice.ZonedTime(nil, found.Due(), found.Location()))
	return err
}
