package store

import (
	"gorm.io/gorm"

	"myao/internal/chat"
)

// forgottenRow marks what memories must not be made of, and tools must not find or read: empty columns have the meaning
// that they have in chat.Scope. ts selects one message.
type forgottenRow struct {
	TeamID    string `gorm:"primaryKey"`
	ChannelID string `gorm:"primaryKey"`
	ThreadTS  string `gorm:"primaryKey"`
	TS        string `gorm:"primaryKey"`
	UntilUS   int64
}

func (forgottenRow) TableName() string { return "forgotten" }

// forgottenRows is what a channel's memories must not be made of.
type forgottenRows []forgottenRow

// forgotten is the forgotten parts of a channel, or with channel empty the workspace's own mark.
func forgotten(db *gorm.DB, team, channel string) (rows forgottenRows, err error) {
	err = db.Where("team_id = ? AND channel_id = ?", team, channel).Find(&rows).Error
	return rows, err
}

// unforgotten is the condition that a message m is not forgotten. A subselect makes Postgres look
// up each message.
const unforgotten = `COALESCE((
		SELECT 1 FROM forgotten f WHERE f.team_id = m.team_id AND f.channel_id = m.channel_id AND CASE
			WHEN f.ts <> '' THEN f.ts = m.ts
			WHEN f.thread_ts <> '' THEN f.thread_ts IN (m.thread_ts, m.ts) AND m.sent_us <= f.until_us
			ELSE m.sent_us <= f.until_us END LIMIT 1
	), 0) = 0`

// exclude restricts a query of the channel's messages to those that are not forgotten.
func (o forgottenRows) exclude(messages *gorm.DB) *gorm.DB {
	for _, f := range o {
		switch {
		case f.TS != "":
			messages = messages.Where("ts <> ?", f.TS)
		case f.ThreadTS != "":
			messages = messages.Where("NOT (thread_ts = ? OR ts = ?) OR sent_us > ?", f.ThreadTS, f.ThreadTS, f.UntilUS)
		default:
			messages = messages.Where("sent_us > ?", f.UntilUS)
		}
	}
	return messages.Session(&gorm.Session{})
}

// lastOrder is when somebody last gave an order about a scope's memory, or about its sources; 0 for
// never. A run that began before such an order must begin again.
func lastOrder(db *gorm.DB, scope chat.Scope) (us int64, err error) {
	marks := db.Model(&forgottenRow{}).Where("team_id = ?", scope.Team)
	if !scope.Workspace() { // whose memory is made from all channels
		marks = marks.Where("channel_id = ?", scope.Channel)
	}
	if err := marks.Select("COALESCE(MAX(until_us), 0)").Scan(&us).Error; err != nil {
		return 0, err
	}
	var row []scopeRow
	if err := ofScope(db.Select("ordered_us"), scope).Find(&row).Error; err != nil || len(row) == 0 {
		return us, err
	}
	return max(us, row[0].OrderedUS), nil
}

// lockChannel reserves a channel's memories for this transaction: other writers of its memories,
// orders to forget, and new promises wait.
func (s *Store) lockChannel(tx *gorm.DB, scope chat.Scope) error {
	if scope.Workspace() {
		return nil
	}
	var row []channelRow
	return s.locked(tx).Where("team_id = ? AND channel_id = ?", scope.Team, scope.Channel).Find(&row).Error
}
