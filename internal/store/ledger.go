package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Decision is one row of the ledger: that the bot meant to speak or not, why,
// and what became of it.
type Decision struct {
	Key           string `gorm:"primaryKey"`
	WorkflowID    string
	TriggerTS     string `gorm:"column:trigger_ts"`
	Revision      string
	Source        string // judgment, rule, addressed or operator
	Rule          string
	ShouldRespond bool
	Reason        string
	Confidence    *float64
	DelaySeconds  *int
	Model         string
	TokensIn      int
	TokensOut     int
	LatencyUS     int64 `gorm:"column:latency_us"`
	// Outcome is pending, silent, posted, withdrawn, dropped, overruled or failed.
	Outcome string
	// OutcomeBy is the message, the operator or the error that brought it about.
	OutcomeBy string
	DecidedUS int64  `gorm:"column:decided_us"`
	SettledUS *int64 `gorm:"column:settled_us"`
}

// TableName is gorm's way to be told the table.
func (Decision) TableName() string { return "decisions" }

// Decided is when the decision was taken.
func (d Decision) Decided() time.Time { return instant(d.DecidedUS) }

// Taken reports whether somebody has decided: the rest are judgments that were given
// up before there was a verdict.
func (d Decision) Taken() bool { return d.Source != "judgment" || d.Confidence != nil }

// Decide writes a decision down. One that is there already stays as it is: an
// activity that is tried again decides once. Only what had ended without a verdict
// gets one, when the judgment is made again because an operator has reset the
// workflow.
func (s *Store) Decide(ctx context.Context, d Decision) error {
	return s.decide(s.db.WithContext(ctx), d)
}

func (s *Store) decide(tx *gorm.DB, d Decision) error {
	d.DecidedUS = s.nowMicros()
	if d.Outcome != "pending" {
		d.SettledUS = &d.DecidedUS
	}
	there := clause.OnConflict{DoNothing: true}
	if d.Taken() {
		verdict := clause.AssignmentColumns([]string{
			"source", "rule", "should_respond", "reason", "confidence", "delay_seconds", "model", "tokens_in", "tokens_out", "latency_us",
		})
		// What has ended stays ended: the verdict may be one that nobody waits for any more.
		for _, end := range []string{"outcome", "outcome_by", "settled_us"} {
			verdict = append(verdict, clause.Assignment{Column: clause.Column{Name: end}, Value: gorm.Expr(
				"CASE WHEN decisions.outcome = 'failed' AND excluded.outcome = 'silent' THEN excluded." + end + " ELSE decisions." + end + " END")})
		}
		there = clause.OnConflict{
			Columns: []clause.Column{{Name: "key"}}, DoUpdates: verdict,
			Where: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "decisions.source = 'judgment' AND decisions.confidence IS NULL"}}},
		}
	}
	created := tx.Clauses(there).Create(&d)
	if created.Error != nil {
		return fmt.Errorf("write decision %s: %w", d.Key, created.Error)
	}
	if d.SettledUS != nil {
		s.metrics.settle(d.Outcome, created.RowsAffected)
	}
	return nil
}

// Settle writes down what became of a decision that was pending. That it was posted
// is a fact, and stands in the place of whatever was to become of it.
func (s *Store) Settle(ctx context.Context, key, outcome, by string) error {
	open := "outcome = 'pending'"
	if outcome == "posted" {
		open = "outcome <> 'posted'"
	}
	settled := s.db.WithContext(ctx).Model(&Decision{}).Where("key = ? AND "+open, key).
		Updates(map[string]any{"outcome": outcome, "outcome_by": by, "settled_us": s.nowMicros()})
	if settled.Error != nil {
		return fmt.Errorf("settle decision %s: %w", key, settled.Error)
	}
	s.metrics.settle(outcome, settled.RowsAffected)
	return nil
}

// Decision is one decision, or ErrNotFound.
func (s *Store) Decision(ctx context.Context, key string) (Decision, error) {
	var rows []Decision
	if err := s.db.WithContext(ctx).Where("key = ?", key).Find(&rows).Error; err != nil {
		return Decision{}, fmt.Errorf("read decision %s: %w", key, err)
	}
	if len(rows) == 0 {
		return Decision{}, fmt.Errorf("decision %s: %w", key, ErrNotFound)
	}
	return rows[0], nil
}

// Decisions is the decisions of a conversation, oldest first.
func (s *Store) Decisions(ctx context.Context, workflowID string) ([]Decision, error) {
	var rows []Decision
	if err := s.db.WithContext(ctx).Where("workflow_id = ?", workflowID).Order("decided_us, key").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read decisions of %s: %w", workflowID, err)
	}
	return rows, nil
}

// Silence mutes a conversation until a time; the zero time ends it.
func (s *Store) Silence(ctx context.Context, workflowID string, until time.Time) error {
	us := int64(0)
	if !until.IsZero() {
		us = micros(until)
	}
	if err := s.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "workflow_id"}}, DoUpdates: clause.Assignments(map[string]any{"silenced_us": us}),
	}).Create(&conversationRow{WorkflowID: workflowID, SilencedUS: us}).Error; err != nil {
		return fmt.Errorf("silence %s: %w", workflowID, err)
	}
	return nil
}

// SilencedUntil is until when a conversation is muted; the zero time if it is not known.
func (s *Store) SilencedUntil(ctx context.Context, workflowID string) (time.Time, error) {
	var rows []conversationRow
	if err := s.db.WithContext(ctx).Where("workflow_id = ?", workflowID).Find(&rows).Error; err != nil {
		return time.Time{}, fmt.Errorf("read conversation %s: %w", workflowID, err)
	}
	if len(rows) == 0 || rows[0].SilencedUS == 0 {
		return time.Time{}, nil
	}
	return instant(rows[0].SilencedUS), nil
}
