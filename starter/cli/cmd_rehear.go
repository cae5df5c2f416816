package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"myao/internal/chat"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// rehearCommand hands messages to their conversations again.
type rehearCommand struct {
	conversationArg
	Since  instant `required:"" placeholder:"WHEN" help:"Messages since then: 90m, 24h or 2026-03-01T12:00:00Z, for example."`
	DryRun bool    `help:"List the messages and do nothing."`
	byFlag
	output
}

// Help implements kong's Help.
func (rehearCommand) Help() string {
	return `Examples:
  starter rehear general --since 2h --dry-run
  starter rehear C0123456789 1700000000.000100 --since 24h

After conversations were terminated, or lost with their namespace: the messages of people about which
nothing was decided, or a decision never came to its end, are told to their conversations once more.
Without a thread that is the channel with all its threads. What has a decision or a reply is left
alone, and so is what somebody ordered to drop. A conversation that still runs knows its messages, and
ignores them. A starter and a worker have to run.`
}

// rehearReport is what was handed over, or would be.
type rehearReport struct {
	Channel  string             `json:"channel"`
	Thread   string             `json:"thread,omitempty"`
	ID       string             `json:"id,omitempty"` // of the order; empty with --dry-run
	By       string             `json:"by,omitempty"`
	Messages []timeline.Message `json:"messages"`
}

func (c *rehearCommand) run(ctx context.Context, p *program) error {
	db, scope, err := p.scope(ctx, c.Channel, c.Thread)
	if err != nil {
		return err
	}
	now := time.Now()
	since, err := c.Since.time(now, p.Config.Location())
	if err != nil {
		return err
	}
	found, err := timeline.ReadUndecided(ctx, db, chat.Conversation(scope),
		timeline.Options{Since: since, LedgerSince: p.Config.Retention.LedgerSince(now)})
	if errors.Is(err, timeline.ErrTooMuch) {
		return fmt.Errorf("%w: name a thread, or a later --since", err)
	}
	if err != nil {
		return err
	}
	out := rehearReport{Channel: scope.Channel, Thread: scope.Thread, Messages: []timeline.Message{}}
	var told []store.Told
	var pending []string
	for _, m := range found {
		out.Messages, pending = append(out.Messages, m.Message), append(pending, m.Pending...)
		for _, id := range m.Told {
			told = append(told, store.Told{WorkflowID: id, TS: m.Message.TS})
		}
	}
	if !c.DryRun && len(told) > 0 {
		out.ID, out.By = orderID(), c.by()
		if err := db.Rehear(ctx, store.Order{ID: out.ID, Scope: scope, Kind: "rehear", By: out.By,
			Subject: strconv.Itoa(len(found))}, told, pending); err != nil {
			return err
		}
	}
	return c.print(p.stdout, out, func(w io.Writer) error { return c.text(w, out, p.Config.Location()) })
}

// text lists the messages, and says what was done.
func (c *rehearCommand) text(w io.Writer, out rehearReport, zone *time.Location) error {
	rows := [][]string{{"MESSAGE", "SENT", "BY"}}
	for _, m := range out.Messages {
		by := m.Name
		if by == "" {
			by = m.User
		}
		rows = append(rows, []string{m.TS, formatTime(chat.Time(m.TS), zone), timeline.Plain(by)})
	}
	if len(out.Messages) > 0 {
		if err := table(w, rows); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("messages handed to their conversations again: %d, by %s; starter why tells what comes of them",
		len(out.Messages), timeline.Plain(out.By))
	switch {
	case len(out.Messages) == 0:
		line = "nothing to do: each message since then has a decision, was given up, or is still to be relayed"
	case c.DryRun:
		line = fmt.Sprintf("messages that would be handed to their conversations again: %d", len(out.Messages))
	}
	_, err := fmt.Fprintln(w, line)
	return err
}
