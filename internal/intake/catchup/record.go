package catchup

import (
	"context"
	"fmt"
	"slices"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
)

// batchSize is how many unhandled messages are read from the database at once.
const batchSize = 200

// record records the listed messages that are unhandled, and the missed edits, the oldest message first.
// The bot's own messages are recorded, too: they set nothing off, and count as handled afterwards.
// A stale pass records only edits of messages too old to be answered.
func (p *pass) record(ctx context.Context) error {
	if p.stale {
		p.edits = slices.DeleteFunc(p.edits, func(m chat.Message) bool { return !m.Time().Before(p.replyableSince) })
	}
	slices.SortFunc(p.edits, func(a, b chat.Message) int { return a.Time().Compare(b.Time()) })
	err := p.unhandled(ctx, func(m chat.Message) error {
		if p.stale || !p.listed[m.TS] {
			return nil
		}
		for len(p.edits) > 0 && p.edits[0].Time().Before(m.Time()) {
			if err := p.recordEdit(ctx); err != nil {
				return err
			}
		}
		return p.recordEvent(ctx, slack.MessageEvent{Kind: slack.Posted, Message: m, At: m.Time()})
	})
	for err == nil && len(p.edits) > 0 {
		err = p.recordEdit(ctx)
	}
	if err != nil {
		return fmt.Errorf("record what was missed: %w", err)
	}
	return nil
}

// unhandled calls do for each unhandled message that may still be answered, the oldest first.
func (p *pass) unhandled(ctx context.Context, do func(chat.Message) error) error {
	for after := ""; ; {
		messages, err := p.Store.Unhandled(ctx, p.Own.TeamID, p.channel.ID, p.replyableSince, after, batchSize)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if err := do(m); err != nil {
				return err
			}
			after = m.TS
		}
		if len(messages) < batchSize {
			return nil
		}
	}
}

// recordEdit records the first of the edits. If the message is too old to be answered, the edit is
// saved, and nothing is relayed.
func (p *pass) recordEdit(ctx context.Context) error {
	m := p.edits[0]
	if m.Time().Before(p.replyableSince) {
		if _, err := p.Store.Record(ctx, m, func(known store.Known) store.Entry {
			if known.Message == nil || !missedEdit(*known.Message, m) {
				return store.Entry{}
			}
			edited := *known.Message
			edited.Text, edited.Files, edited.Revision = m.Text, m.Files, m.Revision
			return store.Entry{Message: &edited, Handled: known.Handled}
		}); err != nil {
			return err
		}
	} else if err := p.recordEvent(ctx, slack.MessageEvent{Kind: slack.Edited, Message: m,
		At: chat.Time(m.Revision)}); err != nil {
		return err
	}
	p.edits = p.edits[1:]
	return nil
}

func (p *pass) recordEvent(ctx context.Context, e slack.MessageEvent) error {
	e.Mention, e.External = chat.Mentions(e.Message.Text, p.Own.UserID), p.channel.External
	targets, err := p.Recorder.Record(ctx, e, p.Own)
	if err == nil && len(targets) > 0 {
		p.result.Taken++
	}
	return err
}
