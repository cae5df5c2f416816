package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm/clause"
)

type runRow struct {
	Schedule string `gorm:"primaryKey"` // TEAM/SCHEDULE for one workspace
	TeamID   string // empty for the job as a whole
	RanUS    int64
}

func (runRow) TableName() string { return "runs" }

// RecordRun notes that a schedule, by its id, has run. With teams it notes that the job has been through these, and not
// that it has ended.
func (s *Store) RecordRun(ctx context.Context, schedule string, teams ...string) error {
	rows := []runRow{{Schedule: schedule, RanUS: s.nowMicros()}}
	if len(teams) > 0 {
		rows = mapRows(teams, func(team string) runRow {
			return runRow{Schedule: inTeamOnly(team, schedule), TeamID: team, RanUS: s.nowMicros()}
		})
	}
	if err := s.db.WithContext(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&rows).Error; err != nil {
		return fmt.Errorf("record a run of %s: %w", schedule, err)
	}
	return nil
}

// LastRuns is when schedules last ran, by their ids. Before the first run it is when the table was made.
func (s *Store) LastRuns(ctx context.Context) (map[string]time.Time, error) {
	return s.LastRunsIn(ctx, "")
}

// LastRunsIn is when schedules were last through a workspace, by their ids. One that never was is not among them.
func (s *Store) LastRunsIn(ctx context.Context, team string) (map[string]time.Time, error) {
	var rows []runRow
	if err := s.db.WithContext(ctx).Where("team_id = ?", team).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read the last runs: %w", err)
	}
	last := make(map[string]time.Time, len(rows))
	for _, r := range rows {
		last[strings.TrimPrefix(r.Schedule, inTeamOnly(team, ""))] = instant(r.RanUS)
	}
	return last, nil
}

// inTeamOnly is the key of what has a name and is of one workspace; the name alone if it is of all.
func inTeamOnly(team, name string) string {
	if team == "" {
		return name
	}
	return team + "/" + name
}
