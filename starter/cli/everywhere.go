package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"myao/internal/conversation"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// everywhereResult is an order to the whole workspace that was carried out.
type everywhereResult struct {
	Team     string    `json:"team"`
	Order    string    `json:"kind"`
	ID       string    `json:"id"`
	By       string    `json:"by"`
	Silenced time.Time `json:"silenced_until,omitzero"`
}

// everywhereMute is a mute of the whole workspace.
type everywhereMute struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

func (m everywhereMute) text(zone *time.Location) string {
	return fmt.Sprintf("everywhere since %s, by %s, until: starter unmute --everywhere", formatTime(m.At, zone),
		timeline.Plain(m.By))
}

// everywhere mutes the bot in the whole workspace, or ends that. It needs neither Temporal nor a
// worker: whoever posts reads the mute from the database.
func (c *orderFlags) everywhere(ctx context.Context, p *program, order string) error {
	db, scope, err := p.scope(ctx, "", "")
	if err != nil {
		return err
	}
	out := everywhereResult{Team: scope.Team, Order: order, ID: orderID(), By: c.by()}
	line := "The bot may post again. Conversations that are muted themselves stay silent."
	if order == conversation.UpdateMute {
		out.Silenced = time.Now().Add(conversation.MuteDuration).UTC()
		line = "Nothing more is posted until: starter unmute --everywhere"
	}
	if err := db.ApplyOrder(ctx, store.Order{ID: out.ID, Scope: scope, Kind: order, By: out.By,
		Until: out.Silenced}); err != nil {
		return err
	}
	return c.print(p.stdout, out, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: done everywhere, by %s\n%s\n", order, timeline.Plain(out.By), line)
		return err
	})
}
