package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// gapRow says which times without events are still to be read up. There is one.
type gapRow struct {
	ID       int   `gorm:"primaryKey"`
	Newest   int64 // number of the newest gap
	Closed   int64 // number of the newest gap since which all channels have been read
	ClosedUS int64
}

func (gapRow) TableName() string { return "gaps" }

// closedGapRow is what gapRow says of the newest closed gap, for one workspace that has installed the app.
type closedGapRow struct {
	TeamID   string `gorm:"primaryKey"`
	Closed   int64
	ClosedUS int64
}

func (closedGapRow) TableName() string { return "closed_gaps" }

// beginGaps has a workspace's channels read, and its gaps closed apart from other workspaces'.
func beginGaps(tx *gorm.DB, team string) error {
	if err := tx.Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "team_id"}}, DoUpdates: clause.AssignmentColumns([]string{"closed"}),
	}).Create(&closedGapRow{TeamID: team}).Error; err != nil {
		return err
	}
	return tx.Model(&channelRow{}).Where("team_id = ?", team).Update("read_gap", 0).Error
}

// Gaps says which gaps there are. A gap is a time in which events may have been missed.
type Gaps struct {
	// Newest is the number of the newest gap; 0 before the first starter.
	Newest int64
	// Due is set while some channel has not been read since the newest gap.
	Due bool
	// Closed is when all channels had last been read; zero for never.
	Closed time.Time
}

// unread is the condition that the bot is in a channel c of a team that has not been read since a gap.
func unread(team string, gap any) clause.Expr {
	return gorm.Expr("c.team_id = ? AND "+joined+" AND c.read_gap < ?", team, gap)
}

// newestGap selects the number of the newest gap.
var newestGap = gorm.Expr("(SELECT newest FROM gaps)")

// Gaps reads which gaps there are. What closes them is a workspace's own matter once it has installed the app.
func (s *Store) Gaps(ctx context.Context, team string) (Gaps, error) {
	var row struct {
		Newest   int64
		ClosedUS int64
		Due      bool
	}
	if err := s.db.WithContext(ctx).
		Raw(`SELECT g.newest, COALESCE(t.closed_us, g.closed_us) AS closed_us,
			COALESCE(t.closed, g.closed) < g.newest OR EXISTS (SELECT 1 FROM channels c WHERE ?) AS due
			FROM gaps g LEFT JOIN closed_gaps t ON t.team_id = ?`, unread(team, newestGap), team).
		Scan(&row).Error; err != nil {
		return Gaps{}, fmt.Errorf("read gaps: %w", err)
	}
	return Gaps{Newest: row.Newest, Due: row.Due, Closed: instantOrZero(row.ClosedUS)}, nil
}

// OpenGap notes that events may have been missed until now. All channels are unread since.
func (s *Store) OpenGap(ctx context.Context) error {
	if err := s.db.WithContext(ctx).Model(&gapRow{}).Where("id = 1").Update("newest", gorm.Expr("newest + 1")).
		Error; err != nil {
		return fmt.Errorf("open a gap: %w", err)
	}
	return nil
}

// NewestGap is the number of the newest gap.
func (s *Store) NewestGap(ctx context.Context) (number int64, err error) {
	if err := s.db.WithContext(ctx).Raw("SELECT newest FROM gaps").Scan(&number).Error; err != nil {
		return 0, fmt.Errorf("read the newest gap: %w", err)
	}
	return number, nil
}

// UnreadChannels is the channels that have not been read since the newest gap, except some, at most limit, and how
// many there are without that limit. The ones read longest ago come first, so that none waits for ever, and of those
// the most recently active.
func (s *Store) UnreadChannels(
	ctx context.Context, team string, gap int64, except []string, limit int,
) (ids []string, total int, err error) {
	var rows []struct {
		ChannelID string
		Total     int
	}
	found := s.db.WithContext(ctx).Table("channels c").Select("c.channel_id, COUNT(*) OVER () AS total").
		Where(unread(team, gap))
	if len(except) > 0 {
		found = found.Where("NOT ?", s.inList("c.channel_id", except))
	}
	if err := found.Order("c.read_gap, c.active_us DESC, c.channel_id").Limit(limit).Scan(&rows).Error; err != nil {
		return nil, 0, fmt.Errorf("read unread channels: %w", err)
	}
	for _, r := range rows {
		ids, total = append(ids, r.ChannelID), r.Total
	}
	return ids, total, nil
}

// MarkRead notes that a channel has been read completely, beginning after a gap. The mark does not move back.
func (s *Store) MarkRead(ctx context.Context, team, channel string, gap int64) error {
	if err := s.db.WithContext(ctx).Model(&channelRow{}).Where("team_id = ? AND channel_id = ? AND read_gap < ?", team,
		channel, gap).
		Update("read_gap", gap).Error; err != nil {
		return fmt.Errorf("mark channel %s as read: %w", channel, err)
	}
	return nil
}

// CloseGap notes that all channels have been read since the newest gap, unless that is not so.
func (s *Store) CloseGap(ctx context.Context, team string) error {
	db := s.db.WithContext(ctx)
	read := gorm.Expr("NOT EXISTS (SELECT 1 FROM channels c WHERE ?)", unread(team, newestGap))
	closed := db.Exec("UPDATE gaps SET closed = newest, closed_us = ? WHERE ? AND NOT EXISTS (SELECT 1 FROM "+
		"closed_gaps WHERE team_id = ?)", s.nowMicros(), read, team)
	if closed.Error == nil && closed.RowsAffected == 0 {
		closed = db.Exec("UPDATE closed_gaps SET closed = (SELECT newest FROM gaps), closed_us = ? WHERE team_id = ? "+
			"AND ?", s.nowMicros(), team, read)
	}
	if closed.Error != nil {
		return fmt.Errorf("close the newest gap: %w", closed.Error)
	}
	return nil
}
