package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"myao/internal/operate/timeline"
)

// personCommand shows and deletes what is stored of a person.
type personCommand struct {
	Export personExport `cmd:"" help:"Print everything that the database holds of a person, as JSON."`
	Forget personForget `cmd:"" help:"Take a person out of the database for good."`
}

type personExport struct {
	personArg
	Out string `placeholder:"FILE" help:"Write to this file, which must not exist yet. Only you may read it."`
}

// Help implements kong's Help.
func (personExport) Help() string {
	return `Examples:
  starter person export U0123ABCD --out ann.json
  starter person export Ann | jq '.messages | length'

The output has the name, the messages, reactions and orders of the person, the decisions that the
messages triggered with their reasons, the replies to them, and the memories that were made from
them. docs/stored-data.md describes the fields. It is personal data: give it to that person alone.`
}

func (c *personExport) run(ctx context.Context, p *program) error {
	db, person, err := p.person(ctx, c.Person)
	if err != nil {
		return err
	}
	export, err := db.ExportPerson(ctx, person, (&sweepProgress{w: p.stderr}).step)
	if err != nil {
		return err
	}
	if c.Out == "" {
		return printJSON(p.stdout, export)
	}
	f, err := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(printJSON(f, export), f.Close())
}

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
		if err := c.confirm(p, fmt.Sprintf("Forget %s for good, with %d messages, %d reactions, %d orders, %d decisions, %d replies and %d memories?",
			strings.TrimSpace(person.User+" "+timeline.Plain(x.Name)), len(x.Messages), len(x.Reactions), len(x.Orders), len(x.Decisions), len(x.Replies), len(x.Memories))); err != nil {
			return err
		}
	}
	if err := db.ForgetPerson(ctx, person, c.by(), orderID(), progress.step); err != nil {
		return err
	}
	return c.print(p.stdout, forgetReport{person.User, progress.changed}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s is forgotten: %s. What they write from now on is stored.\n", person.User, progress.total())
		return err
	})
}

// progressInterval is the time between two lines about a long sweep.
const progressInterval = 3 * time.Second

// sweepProgress counts what a sweep changes, and prints how far a long one is.
type sweepProgress struct {
	w       io.Writer
	printed time.Time
	table   string
	seen    int // rows of the table
	changed map[string]int
}

// step implements store.SweepStep.
func (s *sweepProgress) step(table string, seen, changed int) error {
	if s.changed == nil {
		s.changed, s.printed = map[string]int{}, time.Now()
	}
	if table != s.table {
		s.table, s.seen = table, 0
	}
	s.seen += seen
	if changed > 0 {
		s.changed[table] += changed
	}
	if time.Since(s.printed) < progressInterval {
		return nil
	}
	s.printed = time.Now()
	_, err := fmt.Fprintf(s.w, "%s: %d rows looked at, %d changed …\n", table, s.seen, s.changed[table])
	return err
}

// total sums up the changed rows.
func (s *sweepProgress) total() string {
	n := 0
	for _, rows := range s.changed {
		n += rows
	}
	return fmt.Sprintf("%d rows changed or deleted", n)
}
