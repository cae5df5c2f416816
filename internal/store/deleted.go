package store

import "gorm.io/gorm"

// dropWith deletes what goes with messages of a channel that were deleted, by their ts: the notes that they asked for.
func dropWith(tx *gorm.DB, team, channel string, ts ...string) error {
	return tx.Where("team_id = ? AND channel_id = ? AND ts IN ?", team, channel, ts).Delete(&noteRow{}).Error
}
