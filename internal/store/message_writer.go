package store

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// writerRow says since when a person wrote in a channel, once messages of theirs there were deleted for their age.
type writerRow struct {
	TeamID    string `gorm:"primaryKey"`
	UserID    string `gorm:"primaryKey"`
	ChannelID string `gorm:"primaryKey"`
	SinceUS   int64
}

func (writerRow) TableName() string { return "writers" }

// keepWriters notes who wrote some messages of one channel, a query, before they are deleted for their age.
func keepWriters(tx, old *gorm.DB) error {
	var said []writerRow // one for each message
	if err := old.Where("user_id <> '' AND NOT own").Select("team_id, user_id, channel_id, sent_us AS since_us").
		Scan(&said).Error; err != nil || len(said) == 0 {
		return err
	}
	// One row for each writer, in one order for all who write such rows.
	slices.SortFunc(said, func(a, b writerRow) int {
		return cmp.Or(strings.Compare(a.UserID, b.UserID), cmp.Compare(a.SinceUS, b.SinceUS))
	})
	rows := slices.CompactFunc(said, func(a, b writerRow) bool { return a.UserID == b.UserID })
	return tx.Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "team_id"}, {Name: "user_id"}, {Name: "channel_id"}},
		DoUpdates: clause.Assignments(map[string]any{"since_us": gorm.Expr("CASE WHEN excluded.since_us < " +
			"writers.since_us THEN excluded.since_us ELSE writers.since_us END")}),
	}).Create(&rows).Error
}

// wroteSince is since when a person wrote in channels, by their ids, as far as messages of theirs were deleted for
// their age.
func wroteSince(db *gorm.DB, p chat.Person) (map[string]time.Time, error) {
	var rows []writerRow
	err := db.Where("team_id = ? AND user_id = ?", p.Team, p.User).Find(&rows).Error
	since := map[string]time.Time{}
	for _, r := range rows {
		since[r.ChannelID] = instant(r.SinceUS)
	}
	return since, err
}
