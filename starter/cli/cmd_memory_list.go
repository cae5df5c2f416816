package cli

import (
	"context"
	"fmt"
	"io"

	"myao/internal/chat"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

type memoryList struct {
	Channel string `arg:"" optional:"" help:"The channel: lists it and its threads."`
	Thread  string `arg:"" optional:"" placeholder:"TS" help:"The ts of a thread's parent message: lists that thread alone."`
	Limit   int    `default:"100" placeholder:"N" help:"At most N scopes (${default}), up to 10000."`
	teamFlag
	output
}

// Help implements kong's Help.
func (memoryList) Help() string {
	return "Examples:\n  starter memory list\n  starter memory list general --limit 20"
}

// Validate implements kong's Validate.
func (c *memoryList) Validate() error {
	if err := checkLimit(c.Limit, maxListed); err != nil {
		return err
	}
	return checkThread(c.Thread)
}

func (c *memoryList) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, c.Thread)
	if err != nil {
		return err
	}
	listed, err := c.list(ctx, db, scope)
	if err != nil {
		return err
	}
	return c.print(p.stdout, listed, func(w io.Writer) error {
		if len(listed) == 0 {
			_, err := fmt.Fprintf(w, "nothing is remembered of %s\n", scope)
			return err
		}
		rows := [][]string{append([]string{"OF", "TERM"}, versionHeading[:5]...)}
		for _, r := range listed {
			of := r.Scope.String()
			if r.ChannelName != "" {
				of += " #" + timeline.Plain(r.ChannelName)
			}
			rows = append(rows, append([]string{of, string(r.Term)}, r.row(p.Config.Location())[:5]...))
		}
		return table(w, rows)
	})
}

func (c *memoryList) list(ctx context.Context, db *store.Store, scope chat.Scope) ([]memoryReport, error) {
	listed := []memoryReport{}
	add := func(s store.MemoryOverview, name string) {
		for _, m := range []*store.Memory{s.Long, s.Short} {
			if m != nil {
				r := newMemoryReport(*m, true)
				r.ChannelName = name
				listed = append(listed, r)
			}
		}
	}
	if scope.Thread != "" {
		standing, err := db.CurrentMemory(ctx, scope)
		add(store.MemoryOverview{Scope: scope, Long: standing.Long, Short: standing.Short}, "")
		return listed, err
	}
	scopes, err := db.MemoryOverviews(ctx, scope.Team, scope.Channel, c.Limit)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, s := range scopes {
		ids = append(ids, s.Scope.Channel)
	}
	channels, err := db.Channels(ctx, scope.Team, ids)
	for _, s := range scopes {
		add(s, channels[s.Scope.Channel].Name)
	}
	return listed, err
}
