package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/conversation"
)

// Decision is one row of the ledger: whether the bot meant to speak, why, and the outcome.
type Decision struct {
	Key           string   `gorm:"primaryKey" json:"key"`
	WorkflowID    string   `json:"workflow_id"`
	TeamID        string   `gorm:"<-:create;->:false" json:"-"` // written from WorkflowID, and not read
	TriggerTS     string   `json:"trigger_ts"`
	Revision      string   `json:"revision,omitempty"`
	Source        string   `json:"source"` // judgment, rule, addressed, operator or promise
	Rule          string   `json:"rule,omitempty"`
	ShouldRespond bool     `json:"should_respond"`
	Reason        string   `json:"reason"`
	Confidence    *float64 `json:"confidence,omitempty"`
	DelaySeconds  *int     `json:"delay_seconds,omitempty"`
	// Addressee and Gist are what the model saw: whom the messages are for, and what it would add.
	Addressee string `json:"addressee,omitempty"`
	Gist      string `json:"gist,omitempty"`
	// React is the name of the emoji that the judge chose in place of a reply.
	React string `json:"react,omitempty"`
	// Wanted is the model's yes. Below MinConfidence it is silence all the same.
	Wanted        bool    `json:"wanted,omitempty"`
	MinConfidence float64 `json:"min_confidence,omitempty"`
	// Prompt is the fingerprint of the judgment's templates, Signals the JSON of conversation.Features.
	Prompt    string `json:"prompt,omitempty"`
	Signals   string `json:"signals,omitempty"`
	Model     string `json:"model,omitempty"`
	TokensIn  int    `json:"tokens_in,omitempty"`
	TokensOut int    `json:"tokens_out,omitempty"`
	// ReadUS is when the judge began to read the messages; 0 if nothing was read.
	ReadUS int64 `gorm:"column:read_us" json:"-"`
	// Outcome is pending, silent, posted, withdrawn, dropped, overruled, failed or retracted.
	Outcome conversation.Outcome `json:"outcome"`
	// OutcomeBy is the message, the operator or the error that caused the outcome.
	OutcomeBy string `json:"outcome_by,omitempty"`
	DecidedUS int64  `gorm:"column:decided_us" json:"-"`
	SettledUS *int64 `gorm:"column:settled_us" json:"-"`
}

// TableName implements gorm's schema.Tabler.
func (Decision) TableName() string { return "decisions" }

// Decided is when the decision was made.
func (d Decision) Decided() time.Time { return instant(d.DecidedUS) }

// HasVerdict reports whether there is a decision. A judgment that was given up has none.
func (d Decision) HasVerdict() bool { return d.Source != "judgment" || d.Confidence != nil }

// Decide writes a decision. An existing one stays as it is, so that a retried activity decides
// once. Exception: a judgment that was given up gets its verdict when an operator has reset the
// workflow and it is made again.
func (s *Store) Decide(ctx context.Context, d Decision) error {
	return s.decide(s.db.WithContext(ctx), d)
}

func (s *Store) decide(tx *gorm.DB, d Decision) error {
	d.TeamID, d.DecidedUS = teamOf(d.WorkflowID), s.nowMicros()
	if d.Outcome != conversation.Pending {
		d.SettledUS = &d.DecidedUS
	}
	there := clause.OnConflict{DoNothing: true}
	if d.HasVerdict() {
		verdict := clause.AssignmentColumns([]string{
			"source", "rule", "should_respond", "reason", "confidence", "delay_seconds", "addressee", "gist", "react",
			"wanted", "min_confidence", "prompt", "signals", "model", "tokens_in", "tokens_out",
		})
		// An outcome stays: nobody may wait for this verdict any more.
		for _, end := range []string{"outcome", "outcome_by", "settled_us"} {
			verdict = append(verdict, clause.Assignment{Column: clause.Column{Name: end}, Value: gorm.Expr(
				"CASE WHEN decisions.outcome = 'failed' AND excluded.outcome = 'silent' THEN excluded." + end +
					" ELSE decisions." + end + " END")})
		}
		there = clause.OnConflict{
			Columns: []clause.Column{{Name: "key"}}, DoUpdates: verdict,
			Where: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "decisions.source = 'judgment' AND " +
				"decisions.confidence IS NULL"}}},
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

// Settle records the outcome of a pending decision. The outcome posted replaces any other, because
// it is a fact, except retracted (SettleRetracted), which follows it.
func (s *Store) Settle(ctx context.Context, key string, outcome conversation.Outcome, by string) error {
	_, err := s.settle(s.db.WithContext(ctx), key, outcome, by)
	return err
}

// settle is Settle. It returns the decision, or nil if there was nothing to settle.
func (s *Store) settle(tx *gorm.DB, key string, outcome conversation.Outcome, by string) (*Decision, error) {
	open := "outcome = 'pending'"
	if outcome == conversation.OutcomePosted {
		open = "outcome NOT IN ('posted', 'retracted')"
	}
	whole, err := returningAll[Decision](tx)
	if err != nil {
		return nil, fmt.Errorf("settle decision %s: %w", key, err)
	}
	var settled []Decision
	if err := tx.Model(&settled).Clauses(whole).Where("key = ? AND "+open, key).
		Updates(map[string]any{"outcome": outcome, "outcome_by": by, "settled_us": s.nowMicros()}).Error; err != nil {
		return nil, fmt.Errorf("settle decision %s: %w", key, err)
	}
	if err := endLookups(tx, key); err != nil {
		return nil, fmt.Errorf("end what was looked up for decision %s: %w", key, err)
	}
	if len(settled) == 0 {
		return nil, nil
	}
	s.metrics.settle(outcome, 1)
	return &settled[0], nil
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
