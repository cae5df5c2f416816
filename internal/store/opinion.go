package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Opinion is what one judge of shadow says of a decision. Nothing follows from it.
type Opinion struct {
	ID        int64  `gorm:"primaryKey" json:"-"`
	TeamID    string `json:"-"`
	ChannelID string `json:"-"`
	Decision  string `json:"-"`     // key
	Judge     string `json:"judge"` // its name in the configuration
	// ShouldRespond is its verdict. Wanted is the model's yes; below MinConfidence it is silence all the same.
	ShouldRespond bool `json:"should_respond"`
	Wanted        bool `json:"wanted,omitempty"`
	// Confidence is 0 to 1; nil if it gave no verdict.
	Confidence    *float64 `json:"confidence,omitempty"`
	Reason        string   `json:"reason"`
	DelaySeconds  *int     `json:"delay_seconds,omitempty"`
	MinConfidence float64  `json:"min_confidence,omitempty"`
	Prompt        string   `json:"prompt"` // fingerprint of its templates
	Model         string   `json:"-"`
	TokensIn      int      `json:"-"`
	TokensOut     int      `json:"-"`
	LatencyUS     int64    `gorm:"column:latency_us" json:"-"`
	// Error is the kind of failure; empty for a verdict.
	Error   string `json:"-"`
	GivenUS int64  `gorm:"column:given_us" json:"-"`
}

// TableName implements gorm's schema.Tabler.
func (Opinion) TableName() string { return "opinions" }

// Given is when the opinion was given.
func (o Opinion) Given() time.Time { return instant(o.GivenUS) }

// SaveOpinion saves an opinion, the first of each judge about a decision, while the decision's snapshot is
// there. It reports whether that is there: otherwise something in it has been forgotten.
func (s *Store) SaveOpinion(ctx context.Context, o Opinion) (there bool, err error) {
	o.GivenUS = s.nowMicros()
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		var held []snapshotRow
		if err := s.locked(tx).Select("decision").Where("decision = ?", o.Decision).Find(&held).Error; err != nil ||
			len(held) == 0 {
			return err
		}
		there = true
		return tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&o).Error
	})
	if err != nil {
		return false, fmt.Errorf("save an opinion about decision %s: %w", o.Decision, err)
	}
	return there, nil
}

// OpinionsOf is the opinions about some decisions, by their keys, in the order in which they were given.
func (s *Store) OpinionsOf(ctx context.Context, decisions []string) ([]Opinion, error) {
	if len(decisions) == 0 {
		return nil, nil
	}
	var rows []Opinion
	if err := s.db.WithContext(ctx).Where("decision IN ?", decisions).Order("decision, given_us, id").Find(&rows).
		Error; err != nil {
		return nil, fmt.Errorf("read opinions: %w", err)
	}
	return rows, nil
}

// LatestOpinions is the opinions about the newest judgment of a conversation by a model.
func (s *Store) LatestOpinions(ctx context.Context, workflowID string) ([]Opinion, error) {
	var keys []string
	if err := s.db.WithContext(ctx).Model(&Decision{}).Where("workflow_id = ? AND confidence IS NOT NULL", workflowID).
		Order("decided_us DESC").Limit(1).Pluck("key", &keys).Error; err != nil {
		return nil, fmt.Errorf("read the latest judgment of %s: %w", workflowID, err)
	}
	return s.OpinionsOf(ctx, keys)
}

// OpinionFilter selects opinions. An empty Channel is any.
type OpinionFilter struct {
	Team, Channel string
	Since         time.Time // given since then
}

// Compared is an opinion and the decision that it is about.
type Compared struct {
	Opinion
	About Decision
}

// ComparedOpinions is the opinions that a filter selects, with their decisions, the newest first.
func (s *Store) ComparedOpinions(ctx context.Context, f OpinionFilter) ([]Compared, error) {
	db := s.db.WithContext(ctx)
	query := db.Where("team_id = ? AND given_us >= ?", f.Team, microsOrZero(f.Since))
	if f.Channel != "" {
		query = query.Where("channel_id = ?", f.Channel)
	}
	var rows []Opinion
	if err := query.Order("given_us DESC, id DESC").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read opinions: %w", err)
	}
	var all []Compared
	for chunk := range slices.Chunk(rows, 500) {
		var decisions []Decision
		if err := db.Where("key IN ?", mapRows(chunk, func(o Opinion) string { return o.Decision })).Find(&decisions).
			Error; err != nil {
			return nil, fmt.Errorf("read the decisions of opinions: %w", err)
		}
		about := make(map[string]Decision, len(decisions))
		for _, d := range decisions {
			about[d.Key] = d
		}
		for _, o := range chunk {
			if d, known := about[o.Decision]; known {
				all = append(all, Compared{o, d})
			}
		}
	}
	return all, nil
}
