package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/conversation"
)

const (
	// overdueAfter is how long a conversation may take to end a proposal that is decided or has lapsed.
	overdueAfter = 5 * time.Minute
	// handOverAgain is how long after it was told of something late a conversation is told again: it may be lost again.
	handOverAgain = time.Hour
	// overdueLimit is how many proposals are handed over at once.
	overdueLimit = 100
)

// workflowOf is the workflow id of a row's conversation, as chat.Conversation.ID makes it.
const workflowOf = `CASE thread_ts WHEN '' THEN 'channel/' || team_id || '/' || channel_id ELSE 'thread/' || team_id || '/' || channel_id || '/' || thread_ts END`

// toldLately is the condition that a change c waits for the relay, or was relayed since a time.
const toldLately = "(c.relayed_us IS NULL OR c.relayed_us > ?)"

// tellAgain records a change, or has one that was relayed long ago relayed again.
func (s *Store) tellAgain(tx *gorm.DB, c *changeRow) *gorm.DB {
	return tx.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "workflow_id"}, {Name: "ts"}, {Name: "kind"}, {Name: "revision"}},
		DoUpdates: clause.Assignments(map[string]any{"relayed_us": nil, "stored_us": c.StoredUS}),
		Where: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "changes.relayed_us <= ?",
			Vars: []any{c.StoredUS - handOverAgain.Microseconds()}}}},
	}).Create(c)
}

// HandOverProposals tells conversations of the proposals that should have ended five minutes ago: it
// returns those that have a new change, for each proposal once an hour. Their runs may have been terminated, or
// lost with their namespace. Proposals whose reply was never posted have no conversation that knows
// them; they are withdrawn.
func (s *Store) HandOverProposals(ctx context.Context) (targets []Target, err error) {
	before := s.nowMicros() - overdueAfter.Microseconds()
	if err := s.closeProposals(s.db.WithContext(ctx).Where(unfinished+" AND shown_ts = '' AND lapses_us < ?", before),
		ProposalWithdrawn, ProposalOpen); err != nil {
		return nil, fmt.Errorf("withdraw proposals that were not shown: %w", err)
	}
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		var late []Proposal
		if err := tx.Where(unfinished).
			Where("CASE state WHEN 'open' THEN lapses_us WHEN 'approved' THEN decided_us ELSE began_us END < ?",
				before).
			Where("NOT EXISTS (SELECT 1 FROM changes c WHERE c.workflow_id = "+workflowOf+
				" AND c.ts = trigger_ts AND c.kind = ? AND c.revision = proposals.id AND "+toldLately+")",
				conversation.Overdue, s.nowMicros()-handOverAgain.Microseconds()).
			Order("stored_us").Limit(overdueLimit).Find(&late).Error; err != nil {
			return err
		}
		targets = nil
		for _, p := range late {
			added := s.tellAgain(tx, &changeRow{
				WorkflowID: p.Conversation().ID(), TS: p.TriggerTS, SentUS: micros(chat.Time(p.TriggerTS)),
				Kind: string(conversation.Overdue), Revision: p.ID, StoredUS: s.nowMicros(),
			})
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
		return nil, fmt.Errorf("hand over proposals: %w", err)
	}
	return targets, nil
}
