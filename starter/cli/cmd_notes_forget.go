package cli

import (
	"context"
	"fmt"
	"strconv"
)

type notesForget struct {
	Channel string `arg:"" help:"The channel: its id, or its name with or without #."`
	ID      string `arg:"" help:"The number of the note."`
	teamFlag
	byFlag
}

// Help implements kong's Help.
func (notesForget) Help() string { return "Examples:\n  starter notes forget general 3" }

// Validate implements kong's Validate.
func (c *notesForget) Validate() error {
	if _, err := strconv.ParseInt(c.ID, 10, 64); err != nil {
		return fmt.Errorf("%q is not the number of a note: `starter notes list` shows them", c.ID)
	}
	return nil
}

func (c *notesForget) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, "")
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(c.ID, 10, 64)
	if err != nil {
		return err
	}
	found, err := db.ForgetNote(ctx, scope, id, orderID(), c.by())
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("there is no note %s in %s: `starter notes list` shows them", c.ID, c.Channel)
	}
	_, err = fmt.Fprintf(p.stdout, "note %d is forgotten\n", id)
	return err
}
