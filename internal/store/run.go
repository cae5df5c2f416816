package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm/clause"
)

type runRow struct {
	Schedule string `gorm:"primaryKey"`
	RanUS    int64
}

func (runRow) TableName() string { return "runs" }

// RecordRun notes that a schedule, by its id, has run.
func (s *Store) RecordRun(ctx context.Context, schedule string) error {
	row := runRow{Schedule: schedule, RanUS: s.nowMicros()}
	if err := s.db.WithContext(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
		return fmt.Errorf("record a run of %s: %w", schedule, err)
	}
	return nil
}

// LastRuns is when schedules last ran, by their ids. Before the first run it is when the table was made.
func (s *Store) LastRuns(ctx context.Context) (map[string]time.Time, error) {
	var rows []runRow
	if err := s.db.WithContext(ctx).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read the last runs: %w", err)
	}
	last := make(map[string]time.Time, len(rows))
	for _, r := range rows {
		last[r.Schedule] = instant(r.RanUS)
	}
	return last, nil
}
