package store

import (
	"context"
	"fmt"
	"time"

	"myao/internal/chat"
)

// lostKept is how long it is known that work for a conversation never ended.
const lostKept = 24 * time.Hour

// SaveLost saves that work for a conversation never ended, again and again.
func (s *Store) SaveLost(ctx context.Context, c chat.Conversation) error {
	if err := s.db.WithContext(ctx).Exec(`
		INSERT INTO conversations (workflow_id, team_id, lost_us) VALUES (?, ?, ?)
		ON CONFLICT (workflow_id) DO UPDATE SET lost_us = excluded.lost_us`, c.ID(), c.Team, s.nowMicros()).Error; err != nil {
		return fmt.Errorf("save what was lost in %s: %w", c.ID(), err)
	}
	return nil
}

// Lost are the workflow ids of conversations for which work never ended within the last day, the newest first.
func (s *Store) Lost(ctx context.Context, limit int) (ids []string, err error) {
	if err := s.db.WithContext(ctx).
		Raw("SELECT workflow_id FROM conversations WHERE lost_us > ? ORDER BY lost_us DESC, workflow_id LIMIT ?",
			micros(s.now().Add(-lostKept)), limit).Scan(&ids).Error; err != nil {
		return nil, fmt.Errorf("read conversations with work that never ended: %w", err)
	}
	return ids, nil
}
