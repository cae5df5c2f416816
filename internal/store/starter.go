package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm/clause"
)

type starterRow struct {
	ID      string `gorm:"primaryKey"`
	BeatUS  int64
	Settled bool
}

func (starterRow) TableName() string { return "starters" }

// Starter is a starter that takes Slack's events.
type Starter struct {
	ID string
	// Beat is its last heartbeat.
	Beat time.Time
	// Settled is set once it has found out whether another one took events before it began.
	Settled bool
}

// starterLifetime is how long the row of a starter stays that was killed.
const starterLifetime = time.Hour

// Starters is the starters that have sent a heartbeat lately.
func (s *Store) Starters(ctx context.Context) ([]Starter, error) {
	var rows []starterRow
	if err := s.db.WithContext(ctx).Order("id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read starters: %w", err)
	}
	return mapRows(rows, func(r starterRow) Starter {
		return Starter{ID: r.ID, Beat: instant(r.BeatUS),
			Settled: r.Settled}
	}), nil
}

// SaveStarter writes a starter's heartbeat. It deletes the rows of those that have not sent one for an hour.
func (s *Store) SaveStarter(ctx context.Context, x Starter) error {
	db, row := s.db.WithContext(ctx), starterRow{ID: x.ID, BeatUS: micros(x.Beat), Settled: x.Settled}
	if err := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
		return fmt.Errorf("save heartbeat: %w", err)
	}
	if x.Settled {
		return nil
	}
	if err := db.Where("beat_us < ?", micros(x.Beat.Add(-starterLifetime))).Delete(&starterRow{}).Error; err != nil {
		return fmt.Errorf("delete starters that have ended: %w", err)
	}
	return nil
}

// RemoveStarter deletes the row of a starter that takes no more events.
func (s *Store) RemoveStarter(ctx context.Context, id string) error {
	if err := s.db.WithContext(ctx).Where("id = ?", id).Delete(&starterRow{}).Error; err != nil {
		return fmt.Errorf("remove heartbeat: %w", err)
	}
	return nil
}
