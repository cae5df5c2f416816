package store

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"myao/internal/conversation"
)

// Told is a message that a conversation was told of.
type Told struct {
	WorkflowID, TS string
}

// Rehear has the relay tell conversations once more of messages, in the order in which these were sent,
// and records the order for it. The decisions pending, given by their keys, become overruled if they
// still are pending. A repeated order does nothing.
func (s *Store) Rehear(ctx context.Context, o Order, messages []Told, pending []string) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		fresh, err := s.insertOrder(tx, o)
		if err != nil || !fresh {
			return err
		}
		for _, m := range messages {
			if err := tx.Model(&changeRow{}).
				Where("workflow_id = ? AND ts = ? AND kind IN ? AND relayed_us IS NOT NULL", m.WorkflowID, m.TS,
					[]conversation.Kind{conversation.Said, conversation.Addressed, conversation.Edited}).
				Update("relayed_us", nil).Error; err != nil {
				return err
			}
		}
		for some := range slices.Chunk(pending, sweepChunk) {
			if err := tx.Model(&Decision{}).Where("key IN ? AND outcome = ?", some, conversation.Pending).
				Updates(map[string]any{"outcome": conversation.Overruled, "outcome_by": o.By,
					"settled_us": s.nowMicros()}).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("hand messages to their conversations again: %w", err)
	}
	return nil
}
