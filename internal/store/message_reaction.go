package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

type reactionRow struct {
	TeamID    string `gorm:"primaryKey"`
	ChannelID string `gorm:"primaryKey"`
	TS        string `gorm:"primaryKey" json:"ts"`
	UserID    string `gorm:"primaryKey" json:"user_id"`
	Name      string `gorm:"primaryKey" json:"name"`
	AddedUS   int64  `json:"added_us"`
	RemovedUS int64
}

func (reactionRow) TableName() string { return "reactions" }

// Reaction is an emoji that a user put under a message, or took back.
type Reaction struct {
	Team, Channel, TS string // the message's
	User              string // id
	Name              string // of the emoji, without colons and skin tone
	Removed           bool
	At                time.Time
}

// PutReaction records a reaction. Events may arrive twice and in any order: the newest one counts.
func (s *Store) PutReaction(ctx context.Context, r Reaction) error {
	return putReaction(s.db.WithContext(ctx), r)
}

func putReaction(tx *gorm.DB, r Reaction) error {
	row := reactionRow{TeamID: r.Team, ChannelID: r.Channel, TS: r.TS, UserID: r.User, Name: r.Name}
	column := "added_us"
	if r.Removed {
		column = "removed_us"
		row.RemovedUS = micros(r.At)
	} else {
		row.AddedUS = micros(r.At)
	}
	newest := clause.Expr{SQL: "CASE WHEN excluded." + column + " > reactions." + column + " THEN excluded." + column +
		" ELSE reactions." + column + " END"}
	err := tx.Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "team_id"}, {Name: "channel_id"}, {Name: "ts"}, {Name: "user_id"},
			{Name: "name"}},
		DoUpdates: clause.Set{{Column: clause.Column{Name: column}, Value: newest}},
	}).Create(&row).Error
	if err != nil {
		return fmt.Errorf("store reaction to message %s in %s: %w", r.TS, r.Channel, err)
	}
	return nil
}

// reactionLimit is how many of a channel's reactions are read with its messages: the newest.
const reactionLimit = 500

// reactionsQuery asks for the newest reactions in a channel that still stand there.
func reactionsQuery(team, channel string, into *[]reactionRow) query {
	return query{fmt.Sprintf("SELECT ts, user_id, name, added_us FROM reactions WHERE team_id = ? AND channel_id = ? "+
		"AND added_us > removed_us ORDER BY added_us DESC LIMIT %d",
		reactionLimit), []any{team, channel}, into}
}

// ReactedSince reports whether somebody reacted after a time to a message of a conversation, and the
// reaction is still there. The messages of a thread include its parent.
func (s *Store) ReactedSince(ctx context.Context, c chat.Conversation, since time.Time) (bool, error) {
	var reacted bool
	err := s.db.WithContext(ctx).Raw(`SELECT EXISTS (SELECT 1 FROM reactions r
		JOIN messages m ON m.team_id = r.team_id AND m.channel_id = r.channel_id AND m.ts = r.ts
		WHERE r.team_id = ? AND r.channel_id = ? AND r.added_us > ? AND r.added_us > r.removed_us
			AND (m.thread_ts = ? OR m.ts = ?) AND NOT m.deleted)`,
		c.Team, c.Channel, micros(since), c.Thread, c.Thread).Scan(&reacted).Error
	if err != nil {
		return false, fmt.Errorf("read reactions in %s: %w", c.ID(), err)
	}
	return reacted, nil
}

// withReactions adds reactions to the messages that they belong to, the oldest first.
func withReactions(messages []chat.Message, rows []reactionRow) []chat.Message {
	if len(rows) == 0 {
		return messages
	}
	at := make(map[string]int, len(messages))
	for i, m := range messages {
		at[m.TS] = i
	}
	for _, r := range slices.Backward(rows) {
		if i, ok := at[r.TS]; ok {
			messages[i].Reactions = append(messages[i].Reactions, chat.Reaction{Name: r.Name, UserID: r.UserID})
		}
	}
	return messages
}
