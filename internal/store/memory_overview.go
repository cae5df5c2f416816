package store

import (
	"context"
	"fmt"
	"time"

	"myao/internal/chat"
)

// MemoryOverview is a scope with its current memories, for people to look at.
type MemoryOverview struct {
	Scope chat.Scope
	// Long and Short are nil if there is none. Their texts are left out.
	Long, Short *Memory
	// Updated is when a run last looked at the scope and found something new.
	Updated time.Time
}

// MemoryOverviews is the scopes that have memories, at most limit. With channel empty these are the
// workspace and its channels; otherwise that channel and its threads, the most recently updated
// first.
func (s *Store) MemoryOverviews(ctx context.Context, team, channel string, limit int) ([]MemoryOverview, error) {
	db := s.db.WithContext(ctx)
	query := db.Where("team_id = ? AND thread_ts = ''", team).Order("channel_id")
	if channel != "" {
		query = db.Where("team_id = ? AND channel_id = ?", team, channel).Order("updated_us DESC, thread_ts")
	}
	var rows []scopeRow
	if err := query.Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read memories: %w", err)
	}
	var ids []int64
	for _, r := range rows {
		ids = append(ids, nonNil(r.LongID, r.ShortID)...)
	}
	memories := map[int64]*Memory{}
	if len(ids) > 0 {
		var texts []memoryRow
		if err := db.Omit("text").Where("id IN ?", ids).Find(&texts).Error; err != nil {
			return nil, fmt.Errorf("read memories: %w", err)
		}
		for _, r := range texts {
			m := r.memory()
			memories[r.ID] = &m
		}
	}
	of := func(id *int64) *Memory {
		if id == nil {
			return nil
		}
		return memories[*id]
	}
	overviews := make([]MemoryOverview, len(rows))
	for i, r := range rows {
		overviews[i] = MemoryOverview{
			Scope: chat.Scope{Team: r.TeamID, Channel: r.ChannelID, Thread: r.ThreadTS}, Long: of(r.LongID),
			Short: of(r.ShortID), Updated: instant(r.UpdatedUS),
		}
	}
	return overviews, nil
}

// MemoryVersion is one version of a memory, or ErrNotFound. A forgotten version has no text.
func (s *Store) MemoryVersion(ctx context.Context, scope chat.Scope, term chat.Term, version int) (Memory, error) {
	var rows []memoryRow
	if err := ofScope(s.db.WithContext(ctx), scope).Where("term = ? AND version = ? AND version > 0", string(term),
		version).
		Find(&rows).Error; err != nil {
		return Memory{}, fmt.Errorf("read version %d of the %s memory of %s: %w", version, term, scope, err)
	}
	if len(rows) == 0 {
		return Memory{}, fmt.Errorf("version %d of the %s memory of %s: %w", version, term, scope, ErrNotFound)
	}
	return rows[0].memory(), nil
}

// BusiestChannel returns the channel with the most messages that were sent and stored since a time, and how
// many these are: none, for the empty channel, if there are none.
func (s *Store) BusiestChannel(ctx context.Context, since time.Time) (id, name string, messages int, err error) {
	var rows []struct {
		ChannelID, Name string
		Messages        int
	}
	if err := s.db.WithContext(ctx).Raw(`
		SELECT m.channel_id, COALESCE(MAX(c.name), '') AS name, COUNT(*) AS messages
		FROM messages m LEFT JOIN channels c ON c.team_id = m.team_id AND c.channel_id = m.channel_id
		WHERE m.stored_us >= ? AND m.sent_us >= ? GROUP BY m.team_id, m.channel_id ORDER BY messages DESC LIMIT 1`,
		micros(since), micros(since)).Scan(&rows).Error; err != nil {
		return "", "", 0, fmt.Errorf("look for the busiest channel: %w", err)
	}
	for _, r := range rows {
		id, name, messages = r.ChannelID, r.Name, r.Messages
	}
	return id, name, messages, nil
}
