package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"myao/internal/store"
)

type memoryHistory struct {
	memoryArg
	Term  string `enum:"long,short," default:"" placeholder:"TERM" help:"long or short (both)."`
	Limit int    `default:"20" placeholder:"N" help:"At most the newest N of each term (${default}), up to 10000."`
	output
}

// Help implements kong's Help.
func (memoryHistory) Help() string { return "Examples:\n  starter memory history general --term long" }

// Validate implements kong's Validate.
func (c *memoryHistory) Validate() error {
	if err := checkLimit(c.Limit, maxListed); err != nil {
		return err
	}
	return checkThread(c.Thread)
}

func (c *memoryHistory) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, c.Thread)
	if err != nil {
		return err
	}
	standing, err := db.CurrentMemory(ctx, scope)
	if err != nil {
		return err
	}
	inForce := map[int64]bool{}
	for _, m := range []*store.Memory{standing.Long, standing.Short} {
		if m != nil {
			inForce[m.ID] = true
		}
	}
	versions := []memoryReport{}
	for _, term := range scope.Terms() {
		if c.Term != "" && c.Term != string(term) {
			continue
		}
		memories, err := db.MemoryVersions(ctx, scope, term, c.Limit)
		if err != nil {
			return err
		}
		for _, m := range memories {
			versions = append(versions, newMemoryReport(m, inForce[m.ID]))
		}
	}
	if len(versions) == 0 {
		return fmt.Errorf("nothing was ever remembered of %s", strings.TrimSpace(scope.String()+" "+c.Term))
	}
	return c.print(p.stdout, versions, func(w io.Writer) error {
		rows := [][]string{append([]string{"TERM"}, versionHeading...)}
		for _, r := range versions {
			rows = append(rows, append([]string{string(r.Term)}, r.row(p.Config.Location())...))
		}
		return table(w, rows)
	})
}
