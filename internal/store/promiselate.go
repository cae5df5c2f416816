package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"myao/internal/conversation"
)

// PromiseCounts says how many promises are open, and how many of these are late: their conversation should
// have turned to them five minutes ago.
type PromiseCounts struct {
	Open, Late int
	// Oldest is when the conversation should have turned to the one that is late for longest; zero if
	// none is.
	Oldest time.Time
}

// CountPromises counts the open promises of all workspaces.
func (s *Store) CountPromises(ctx context.Context) (PromiseCounts, error) {
	before := s.nowMicros() - overdueAfter.Microseconds()
	var row struct {
		Open, Late int
		OldestUS   int64 `gorm:"column:oldest_us"`
	}
	if err := s.db.WithContext(ctx).Raw(`
		SELECT COUNT(*) AS open, COALESCE(SUM(CASE WHEN due_us < ? AND held_us < ? THEN 1 ELSE 0 END), 0) AS late,
			COALESCE(MIN(CASE WHEN due_us < ? AND held_us < ? THEN CASE WHEN held_us > due_us THEN held_us ELSE due_us END END), 0) AS oldest_us
		FROM promises WHERE state = 'open' AND shown_ts <> ''`, before, before, before, before).Scan(&row).Error; err != nil {
		return PromiseCounts{}, fmt.Errorf("count promises: %w", err)
	}
	return PromiseCounts{Open: row.Open, Late: row.Late, Oldest: instantOrZero(row.OldestUS)}, nil
}

// unshownPromises is how long after its time a promise waits for the reply that confirms it.
const unshownPromises = 24 * time.Hour

// HandOverPromises tells conversations of their promises that are late: their runs may have been terminated, or lost
// with their namespace. It tells them again an hour after the last time. It returns the conversations that have a new
// change. Promises whose reply was never posted are withdrawn.
func (s *Store) HandOverPromises(ctx context.Context) (targets []Target, err error) {
	now := s.nowMicros()
	lost := s.db.WithContext(ctx).Model(&Promise{}).Where("state = 'open' AND shown_ts = '' AND due_us < ?",
		now-unshownPromises.Microseconds()).
		Updates(map[string]any{"state": PromiseWithdrawn, "ended_us": now})
	if lost.Error != nil {
		return nil, fmt.Errorf("withdraw promises that were not confirmed: %w", lost.Error)
	}
	s.metrics.endPromise(PromiseWithdrawn, lost.RowsAffected)
	before := now - overdueAfter.Microseconds()
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		var late []Promise
		if err := tx.Where("state = 'open' AND shown_ts <> '' AND due_us < ? AND held_us < ?", before, before).
			Where("NOT EXISTS (SELECT 1 FROM changes c WHERE c.workflow_id = "+workflowOf+
				" AND c.ts = trigger_ts AND c.kind = ? AND c.revision = promises.id || '/' || number || '/' || "+
				"due_us AND "+toldLately+")", conversation.Due, now-handOverAgain.Microseconds()).
			Order("due_us").Limit(overdueLimit).Find(&late).Error; err != nil {
			return err
		}
		targets = nil
		for _, p := range late {
			c := p.change(conversation.Due, p.reference(), s.nowMicros())
			added := s.tellAgain(tx, &c)
			if added.Error != nil {
				return added.Error
			}
			if added.RowsAffected > 0 { // no other starter was faster
				targets = append(targets, Target{Conversation: p.Conversation()})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("hand over promises: %w", err)
	}
	return targets, nil
}
