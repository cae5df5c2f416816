package cli

import (
	"context"
	"fmt"
	"io"
)

type memoryRollback struct {
	memoryArg
	termFlag
	To int `required:"" placeholder:"VERSION" help:"The version to bring back."`
	byFlag
	output
}

// Help implements kong's Help.
func (memoryRollback) Help() string {
	return `Examples:
  starter memory rollback general --term long --to 3

The old text becomes a new version with the origin operator. What was learnt between the two
versions is lost. Later updates build on the old text.`
}

// Validate implements kong's Validate.
func (c *memoryRollback) Validate() error {
	if c.To < 1 {
		return fmt.Errorf("--to %d: want 1 or more", c.To)
	}
	return c.check(c.Thread)
}

func (c *memoryRollback) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, c.Thread)
	if err != nil {
		return err
	}
	term := c.term()
	m, err := db.Rollback(ctx, scope, term, c.To, c.by(), orderID())
	if err != nil {
		return noVersion(err, scope, term, c.To)
	}
	return c.print(p.stdout, newMemoryReport(m, true), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "the %s-term memory of %s is version %d now, with the text of version %d\n", term,
			scope, m.Version, c.To)
		return err
	})
}
