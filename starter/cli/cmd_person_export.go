package cli

import (
	"context"
	"errors"
	"os"
)

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
