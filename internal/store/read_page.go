package store

import (
	"context"
	"errors"
	"fmt"

	"myao/internal/chat"
)

// ErrHidden is returned for a channel that readers in another channel may not know, and for one that
// the database does not know.
var ErrHidden = errors.New("no such channel is known here")

// Seen is the channels among the ids that readers in the channel here may know.
func (s *Store) Seen(ctx context.Context, team, here string, ids []string) (map[string]bool, error) {
	var rows []struct {
		ChannelID string `json:"channel_id"`
	}
	if err := runBatch(s.db.WithContext(ctx),
		query{"SELECT c.channel_id FROM channels c WHERE c.team_id = ? AND ? AND ?",
			[]any{team, s.inList("c.channel_id", ids), seenFrom(team, here)}, &rows}); err != nil {
		return nil, fmt.Errorf("read which channels may be known: %w", err)
	}
	seen := make(map[string]bool, len(rows))
	for _, r := range rows {
		seen[r.ChannelID] = true
	}
	return seen, nil
}

// PageRequest asks for a page of messages of a place.
type PageRequest struct {
	// Here is the channel whose people read the page.
	Here string
	// Of is the thread, or the top level of the channel, that is read.
	Of chat.Conversation
	// Before is a ts: only earlier messages are read; empty for the newest.
	Before string
	// Limit is how many are read.
	Limit int
}

// Page is the newest messages of a place before a time, oldest first, without deleted and forgotten
// ones. more reports whether there are earlier ones. A thread's page includes its parent. It returns ErrHidden
// for a channel that readers in Here may not know.
func (s *Store) Page(ctx context.Context, r PageRequest) (page []chat.Message, more bool, err error) {
	var seen []struct {
		ChannelID string `json:"channel_id"`
	}
	before := int64(1) << 62
	if r.Before != "" {
		before = micros(chat.Time(r.Before))
	}
	const shown = "NOT m.deleted AND " + unforgotten + " AND m.sent_us < @before"
	var rows []messageRow
	err = runBatch(s.db.WithContext(ctx),
		query{"SELECT c.channel_id FROM channels c WHERE c.team_id = ? AND c.channel_id = ? AND ? AND NOT (?)",
			[]any{r.Of.Team, r.Of.Channel, seenFrom(r.Of.Team, r.Here), s.keptFrom(r.Here)}, &seen},
		named(`
			SELECT * FROM (
				SELECT * FROM (SELECT m.* FROM messages m WHERE m.team_id = @team AND m.channel_id = @channel AND m.thread_ts = @thread AND `+shown+`
					ORDER BY m.sent_us DESC LIMIT @limit) own
				UNION ALL SELECT m.* FROM messages m WHERE m.team_id = @team AND m.channel_id = @channel AND m.ts = @thread AND `+shown+`
			) found ORDER BY sent_us DESC LIMIT @limit`,
			&rows, place(r.Of), map[string]any{"before": before, "limit": verbatim(r.Limit + 1)}),
	)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("read a page of %s: %w", r.Of.ID(), err)
	case len(seen) == 0:
		return nil, false, ErrHidden
	}
	more = len(rows) > r.Limit
	rows = rows[:min(len(rows), r.Limit)]
	page = make([]chat.Message, len(rows))
	for i, row := range rows {
		page[len(rows)-1-i] = row.message()
	}
	return page, more, nil
}
