package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// outsiderRow is somebody who was in a channel without being one of the workspace's own people, or
// without the bot knowing who they are.
type outsiderRow struct {
	TeamID    string `gorm:"primaryKey"`
	ChannelID string `gorm:"primaryKey"`
	UserID    string `gorm:"primaryKey" json:"user_id"`
	SeenUS    int64  `json:"seen_us"`
	LeftUS    int64  `json:"left_us"`
}

func (outsiderRow) TableName() string { return "outsiders" }

// Presence is when somebody was last known to be in a channel, and when they last left it. They are
// in it while Left is before Seen.
type Presence struct{ Seen, Left time.Time }

// present is the condition that an outsider o is in their channel.
const present = "o.left_us < o.seen_us"

// lastGuest is when the newest of a team's guests became known as such; NULL if it has none.
const lastGuest = "(SELECT MAX(g.guest_us) FROM users g WHERE g.team_id = ? AND g.guest_us > 0)"

// membersDue is the condition that guests may be in a channel without the database knowing: the
// workspace has guests, and Slack was not asked for the channel's members since the newest of them
// became known, nor since the bot came.
func membersDue(team, channel string) clause.Expr {
	return clause.Expr{SQL: "(" + lastGuest + ` IS NOT NULL AND NOT EXISTS (
		SELECT 1 FROM channels h WHERE h.team_id = ? AND h.channel_id = ? AND h.members_us >= h.known_since_us AND h.members_us > ` + lastGuest + "))",
		Vars: []any{team, team, channel, team}}
}

// SeeOutsiders records that users who count as outsiders were in a channel at a time.
func (s *Store) SeeOutsiders(ctx context.Context, team, channel string, seen map[string]time.Time) error {
	rows := make([]outsiderRow, 0, len(seen))
	for user, at := range seen {
		rows = append(rows, outsiderRow{TeamID: team, ChannelID: channel, UserID: user, SeenUS: micros(at)})
	}
	if err := saveOutsiders(s.db.WithContext(ctx), rows); err != nil {
		return fmt.Errorf("save outsiders in %s: %w", channel, err)
	}
	return nil
}

func saveOutsiders(tx *gorm.DB, rows []outsiderRow) error {
	if len(rows) == 0 {
		return nil
	}
	// one order for all writers
	slices.SortFunc(rows, func(a, b outsiderRow) int { return strings.Compare(a.UserID, b.UserID) })
	return tx.Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "team_id"}, {Name: "channel_id"}, {Name: "user_id"}},
		DoUpdates: clause.Assignments(map[string]any{
			"seen_us": gorm.Expr("CASE WHEN excluded.seen_us > outsiders.seen_us THEN excluded.seen_us ELSE " +
				"outsiders.seen_us END"),
		}),
	}).CreateInBatches(rows, 100).Error
}

// LeaveChannel records that a user left a channel, if they count as an outsider there.
func (s *Store) LeaveChannel(ctx context.Context, team, channel, user string, at time.Time) error {
	if err := s.db.WithContext(ctx).
		Exec("UPDATE outsiders SET left_us = ? WHERE team_id = ? AND channel_id = ? AND user_id = ? AND left_us < ?",
			micros(at), team, channel, user, micros(at)).Error; err != nil {
		return fmt.Errorf("save that %s left %s: %w", user, channel, err)
	}
	return nil
}

// SaveMembers writes who is in a channel: all its members, as Slack listed them when asked. Only the
// outsiders among them are kept. It returns how many outsiders are in the channel now.
func (s *Store) SaveMembers(ctx context.Context, team, channel string, members []string,
	asked time.Time) (outsiders int, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		// First, so that two listings of one channel are taken in one after the other.
		row := channelRow{TeamID: team, ChannelID: channel, MembersUS: micros(asked)}
		if err := tx.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "team_id"}, {Name: "channel_id"}},
			DoUpdates: clause.AssignmentColumns([]string{"members_us"}),
		}).Create(&row).Error; err != nil {
			return err
		}
		var rows []outsiderRow
		for some := range slices.Chunk(members, 1000) {
			var found []string
			if err := tx.Model(&userRow{}).Where("team_id = ? AND ? AND (guest_us > 0 OR stranger)", team,
				s.inList("user_id", some)).Pluck("user_id", &found).Error; err != nil {
				return err
			}
			for _, user := range found {
				rows = append(rows, outsiderRow{TeamID: team, ChannelID: channel, UserID: user, SeenUS: micros(asked)})
			}
		}
		if err := saveOutsiders(tx, rows); err != nil {
			return err
		}
		var known []string
		here := tx.Model(&outsiderRow{}).Where("team_id = ? AND channel_id = ?", team, channel)
		if err := here.Session(&gorm.Session{}).Pluck("user_id", &known).Error; err != nil {
			return err
		}
		is := make(map[string]bool, len(members))
		for _, id := range members {
			is[id] = true
		}
		if gone := slices.DeleteFunc(known, func(id string) bool { return is[id] }); len(gone) > 0 {
			if err := here.Session(&gorm.Session{}).Where("left_us < ? AND ?", micros(asked),
				s.inList("user_id", gone)).Update("left_us", micros(asked)).Error; err != nil {
				return err
			}
		}
		var left int64
		err := here.Session(&gorm.Session{}).Where("left_us < seen_us").Count(&left).Error
		outsiders = int(left)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("save members of %s: %w", channel, err)
	}
	return outsiders, nil
}

// MembersDue is the channels whose members are to be read from Slack, the most recently active
// first: where guests may be without the database knowing, and those where guests may be or
// outsiders are that were last asked about before a time. It is none in a workspace without guests
// and other outsiders. Direct messages are left out.
func (s *Store) MembersDue(
	ctx context.Context, team string, before time.Time, most int,
) (channels []string, err error) {
	if err := s.db.WithContext(ctx).Table("channels c").
		Where("c.team_id = ? AND "+joined+" AND c.channel_id NOT LIKE 'D%'", team).
		Where(`c.members_us < c.known_since_us AND `+lastGuest+` IS NOT NULL OR c.members_us <= `+lastGuest+`
			OR c.members_us < ? AND (`+lastGuest+` IS NOT NULL OR EXISTS (
				SELECT 1 FROM outsiders o WHERE o.team_id = c.team_id AND o.channel_id = c.channel_id AND `+present+`
			))`, team, team, microsOrZero(before), team).
		Order("c.active_us DESC, c.channel_id").Limit(most).Pluck("c.channel_id", &channels).Error; err != nil {
		return nil, fmt.Errorf("read channels to ask about members: %w", err)
	}
	return channels, nil
}

// MembersUnknown records that anybody may be in a channel: the bot has just come into it.
func (s *Store) MembersUnknown(ctx context.Context, team, channel string) error {
	if err := s.db.WithContext(ctx).Model(&channelRow{}).Where("team_id = ? AND channel_id = ? AND members_us > 0",
		team, channel).
		Update("members_us", 0).Error; err != nil {
		return fmt.Errorf("forget the members of %s: %w", channel, err)
	}
	return nil
}

// OutsidersIn counts the outsiders in channels; those without any are missing.
func (s *Store) OutsidersIn(ctx context.Context, team string) (map[string]int, error) {
	var rows []struct {
		ChannelID string
		Count     int
	}
	if err := s.db.WithContext(ctx).Table("outsiders o").Select("o.channel_id, COUNT(*) AS count").
		Where("o.team_id = ? AND "+present, team).Group("o.channel_id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("count outsiders: %w", err)
	}
	counts := make(map[string]int, len(rows))
	for _, r := range rows {
		counts[r.ChannelID] = r.Count
	}
	return counts, nil
}
