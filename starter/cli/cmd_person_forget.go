package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"myao/internal/operate/timeline"
)

type personForget struct {
	personArg
	confirmFlag
	byFlag
	output
}

// Help implements kong's Help.
func (personForget) Help() string {
	return `Examples:
  starter person forget U0123ABCD          says what would be deleted, and asks
  starter person forget U0123ABCD --yes
  starter person forget Ann --yes --by carol

Deleted for good are the texts of their messages, what may have been remembered from them, the
replies to them and those that name them, reasons in the ledger, their reactions and orders, and
their id and name. The display name stays in what other people wrote. Slack's own copy is
untouched, and does not come back when it is read. What they write from now on is stored as ever.
It may take minutes, may be interrupted, and can be repeated.`
}

// forgetReport is what person forget did.
type forgetReport struct {
	Person  string         `json:"person"`
	Changed map[string]int `json:"changed"` // rows, by table
}

func (c *personForget) run(ctx context.Context, p *program) error {
	db, person, err := p.person(ctx, c.Person)
	if err != nil {
		return err
	}
	progress := &sweepProgress{w: p.stderr}
	if !c.Yes {
		x, err := db.ExportPerson(ctx, person, progress.step)
		if err != nil {
			return err
		}
		if err := c.confirm(p, fmt.Sprintf("Forget %s for good, with %d messages, %d reactions, %d orders, %d "+
			"decisions, %d replies and %d memories?",
			strings.TrimSpace(person.User+" "+timeline.Plain(x.Name)), len(x.Messages), len(x.Reactions), len(x.Orders),
			len(x.Decisions), len(x.Replies), len(x.Memories))); err != nil {
			return err
		}
	}
	if err := db.ForgetPerson(ctx, person, c.by(), orderID(), progress.step); err != nil {
		return err
	}
	return c.print(p.stdout, forgetReport{person.User, progress.changed}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s is forgotten: %s. What they write from now on is stored.\n", person.User,
			progress.total())
		return err
	})
}
