package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

type channelRow struct {
	TeamID            string `gorm:"primaryKey"`
	ChannelID         string `gorm:"primaryKey"`
	Name              string
	Private           bool
	RefreshedUS       int64 `gorm:"column:refreshed_us"`
	NextPostUS        int64 `gorm:"column:next_post_us"`
	Member            bool
	Archived          bool
	KnownSinceUS      int64 `gorm:"column:known_since_us"`
	CaughtUpTo        string
	ThreadsCaughtUpTo string
	ThreadsReadUS     int64 `gorm:"column:threads_read_us"`
}

func (channelRow) TableName() string { return "channels" }

// Channel is a channel as Slack described it when it was last asked; a direct
// message has no name.
type Channel struct {
	ID      string
	Name    string
	Private bool
	// Refreshed is the zero time for a channel that Slack was never asked about.
	Refreshed time.Time
	// Member is set while the bot is in it, as Slack said last.
	Member, Archived bool
	// KnownSince is when the bot came to know it: what was said before is never answered
	// by catch-up. The zero time for a channel that Slack was never asked about.
	KnownSince time.Time
	// CaughtUpTo and ThreadsCaughtUpTo are the ts up to which Slack's history of the top
	// level, and the replies, have been read; empty if they never were.
	CaughtUpTo, ThreadsCaughtUpTo string
	// ThreadsRead is when the replies were read last; the zero time for never.
	ThreadsRead time.Time
}

func (r channelRow) channel() Channel {
	return Channel{
		ID: r.ChannelID, Name: r.Name, Private: r.Private, Refreshed: moment(r.RefreshedUS),
		Member: r.Member, Archived: r.Archived, KnownSince: moment(r.KnownSinceUS),
		CaughtUpTo: r.CaughtUpTo, ThreadsCaughtUpTo: r.ThreadsCaughtUpTo, ThreadsRead: moment(r.ThreadsReadUS),
	}
}

// Channels is those of the ids that are known.
func (s *Store) Channels(ctx context.Context, team string, ids []string) (map[string]Channel, error) {
	channels := make(map[string]Channel, len(ids))
	if len(ids) == 0 {
		return channels, nil
	}
	var rows []channelRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND channel_id IN ?", team, ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read channels: %w", err)
	}
	for _, r := range rows {
		channels[r.ChannelID] = r.channel()
	}
	return channels, nil
}

// SaveChannel writes down what Slack says of a channel. Of c, KnownSince and all that
// tells how far it was read are ignored: a channel that Slack was never asked about
// is known since then, or since the first of its messages that an event brought, and
// one that is known stays so. An empty name leaves the one that is known.
func (s *Store) SaveChannel(ctx context.Context, team string, c Channel) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var known []channelRow
		if err := s.locked(tx).Where("team_id = ? AND channel_id = ? AND refreshed_us <> 0", team, c.ID).Find(&known).Error; err != nil {
			return err
		}
		row := s.refreshed(team, c)
		if len(known) > 0 {
			row.KnownSinceUS = known[0].KnownSinceUS
			return describe(tx, []channelRow{row})
		}
		return meet(tx, []channelRow{row})
	})
	if err != nil {
		return fmt.Errorf("save channel %s: %w", c.ID, err)
	}
	return nil
}

// refreshed is what Slack says of a channel, as if it were known since then.
func (s *Store) refreshed(team string, c Channel) channelRow {
	at := stamp(c.Refreshed)
	if at == 0 {
		at = s.nowMicros()
	}
	return channelRow{
		TeamID: team, ChannelID: c.ID, Name: c.Name, Private: c.Private, RefreshedUS: at,
		Member: c.Member, Archived: c.Archived, KnownSinceUS: at,
	}
}

// describe writes channels down, each of them once and in order of id. It leaves alone
// how far they were read and when they may be posted to.
func describe(tx *gorm.DB, rows []channelRow) error {
	if len(rows) == 0 {
		return nil
	}
	update := clause.AssignmentColumns([]string{"private", "refreshed_us", "member", "archived", "known_since_us"})
	update = append(update, clause.Assignment{
		Column: clause.Column{Name: "name"},
		Value:  gorm.Expr("CASE WHEN excluded.name = '' THEN channels.name ELSE excluded.name END"),
	})
	return tx.Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "team_id"}, {Name: "channel_id"}}, DoUpdates: update,
	}).CreateInBatches(rows, 100).Error
}

// meet is describe for channels of one team that are new: they are known since the
// first of their messages that an event brought, if that was earlier.
func meet(tx *gorm.DB, rows []channelRow) error {
	if len(rows) == 0 {
		return nil
	}
	if err := describe(tx, rows); err != nil {
		return err
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ChannelID
	}
	return tx.Exec(`
		UPDATE channels SET known_since_us = COALESCE((
			SELECT MIN(m.sent_us) FROM messages m
			WHERE m.team_id = channels.team_id AND m.channel_id = channels.channel_id AND m.handled AND NOT m.deleted
				AND m.sent_us < channels.known_since_us
		), known_since_us) WHERE team_id = ? AND channel_id IN ?`, rows[0].TeamID, ids).Error
}
