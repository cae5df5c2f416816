package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
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
	ClosedUS          int64 `gorm:"column:closed_us"`
	ConvertedUS       int64 `gorm:"column:converted_us"`
	KnownSinceUS      int64 `gorm:"column:known_since_us"`
	CaughtUpTo        string
	ThreadsCaughtUpTo string
	ThreadsReadUS     int64 `gorm:"column:threads_read_us"`
	External          bool
	ActiveUS          int64 `gorm:"column:active_us"`
}

func (channelRow) TableName() string { return "channels" }

// Channel is a channel as Slack described it when it was last asked; a direct
// message has no name.
type Channel struct {
	ID      string
	Name    string
	Private bool
	// External is set while people of other companies are in it, too, by Slack Connect.
	External bool
	// Refreshed is when that was, or up to an hour earlier if a listing said the same again.
	// The zero time for a channel that Slack was never asked about.
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
		ID: r.ChannelID, Name: r.Name, Private: r.Private, External: r.External, Refreshed: instantOrZero(r.RefreshedUS),
		Member: r.Member, Archived: r.Archived, KnownSince: instantOrZero(r.KnownSinceUS),
		CaughtUpTo: r.CaughtUpTo, ThreadsCaughtUpTo: r.ThreadsCaughtUpTo, ThreadsRead: instantOrZero(r.ThreadsReadUS),
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
// is known since then, or since the first of its messages that an event brought, or
// if it is a direct message, as long as any channel is; one that is known stays so. An
// empty name leaves the one that is known. What Slack said before it said that not
// everybody may read the channel does not open it, and of what it said before it was asked
// for what is known, nothing counts but that.
func (s *Store) SaveChannel(ctx context.Context, team string, c Channel) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		var known []channelRow
		if err := s.locked(tx).Where("team_id = ? AND channel_id = ? AND refreshed_us <> 0", team, c.ID).Find(&known).Error; err != nil {
			return err
		}
		row := s.refreshed(team, c)
		if len(known) > 0 {
			if row.KnownSinceUS = known[0].KnownSinceUS; s.superseded(row.RefreshedUS, known[0]) {
				row = row.mergeOutdated(known[0])
			}
			return upsertChannels(tx, []channelRow{row})
		}
		var first int64
		if err := tx.Raw("SELECT COALESCE(MIN(known_since_us), 0) FROM channels WHERE team_id = ? AND known_since_us > 0", team).
			Scan(&first).Error; err != nil {
			return err
		}
		return s.upsertNewChannels(tx, []channelRow{row}, first)
	})
	if err != nil {
		return fmt.Errorf("save channel %s: %w", c.ID, err)
	}
	return nil
}

// refreshed is what Slack says of a channel, as if it were known since then.
func (s *Store) refreshed(team string, c Channel) channelRow {
	at := microsOrZero(c.Refreshed)
	if at == 0 {
		at = s.nowMicros()
	}
	row := channelRow{
		TeamID: team, ChannelID: c.ID, Name: c.Name, Private: c.Private, External: c.External, RefreshedUS: at,
		Member: c.Member, Archived: c.Archived, KnownSinceUS: at,
	}
	if c.Private {
		row.ClosedUS = at
	}
	return row
}

// superseded reports whether what is known of a channel was asked for later than at an
// instant. What lies in the future is from a clock that was wrong, and does not count.
func (s *Store) superseded(asked int64, known channelRow) bool {
	return known.RefreshedUS > asked && known.RefreshedUS <= s.nowMicros()
}

// mergeOutdated is what is known of a channel, once an answer that it has overtaken comes: closed,
// or shared with others, if that says so.
func (r channelRow) mergeOutdated(known channelRow) channelRow {
	known.Private, known.ClosedUS = known.Private || r.Private, max(known.ClosedUS, r.ClosedUS)
	known.External = known.External || r.External
	return known
}

// upsertChannels writes channels down, each of them once and in order of id. It leaves alone
// how far they were read, when they were active and when they may be posted to.
func upsertChannels(tx *gorm.DB, rows []channelRow) error {
	if len(rows) == 0 {
		return nil
	}
	update := clause.AssignmentColumns([]string{"refreshed_us", "member", "archived", "external", "known_since_us"})
	update = append(update, clause.Assignments(map[string]any{
		"name":         gorm.Expr("CASE WHEN excluded.name = '' THEN channels.name ELSE excluded.name END"),
		"private":      gorm.Expr("excluded.private OR channels.closed_us > excluded.refreshed_us"),
		"closed_us":    gorm.Expr("CASE WHEN excluded.closed_us > channels.closed_us THEN excluded.closed_us ELSE channels.closed_us END"),
		"converted_us": gorm.Expr("CASE WHEN excluded.private AND NOT channels.private THEN excluded.refreshed_us ELSE channels.converted_us END"),
	})...)
	return tx.Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "team_id"}, {Name: "channel_id"}}, DoUpdates: update,
	}).CreateInBatches(rows, 100).Error
}

// upsertNewChannels is describe for channels of one team that are new: they are known since the
// first of their messages that an event brought, if that was earlier. A direct message
// is known as long as any channel is, which is since first (0: there is none): nothing was
// said in it before the bot was there, and who begins one while the programs are down
// shall be answered.
func (s *Store) upsertNewChannels(tx *gorm.DB, rows []channelRow, first int64) error {
	if len(rows) == 0 {
		return nil
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ChannelID
		if direct := (chat.Conversation{Channel: r.ChannelID}).Direct(); direct && first > 0 {
			rows[i].KnownSinceUS = min(r.KnownSinceUS, first)
		}
	}
	if err := upsertChannels(tx, rows); err != nil {
		return err
	}
	return tx.Exec(`
		UPDATE channels SET known_since_us = COALESCE((
			SELECT MIN(m.sent_us) FROM messages m
			WHERE m.team_id = channels.team_id AND m.channel_id = channels.channel_id AND m.handled AND NOT m.deleted
				AND m.sent_us < channels.known_since_us
		), known_since_us) WHERE team_id = ? AND ?`, rows[0].TeamID, s.inList("channel_id", ids)).Error
}

// activityResolution is how exactly it is kept when a channel was active. A busy channel's row
// is written once in that time and else only read: who writes it waits for all others.
const activityResolution = time.Minute

// saveActivity keeps about when the newest message of a channel was sent, after one was
// written: never later than that, nor activeWithin earlier. It does not move back when
// messages are deleted.
func saveActivity(tx *gorm.DB, r messageRow) error {
	if r.Deleted {
		return nil
	}
	return tx.Exec(`
		INSERT INTO channels (team_id, channel_id, active_us) SELECT ?, ?, CAST(? AS BIGINT)
		WHERE NOT EXISTS (SELECT 1 FROM channels WHERE team_id = ? AND channel_id = ? AND active_us > ?)
		ON CONFLICT (team_id, channel_id) DO UPDATE SET active_us = excluded.active_us WHERE channels.active_us < excluded.active_us`,
		r.TeamID, r.ChannelID, r.SentUS, r.TeamID, r.ChannelID, r.SentUS-activityResolution.Microseconds()).Error
}

// updateChannels keeps, of the channels in which something is recorded, about when they were active
// (as active does), that they are closed if Slack says that not everybody may read
// them, and that others read them if it says so. Of most there is nothing new.
func (s *Store) updateChannels(tx *gorm.DB, group []*recording) error {
	touched := map[string]channelUpdate{}
	for _, n := range group {
		shut, shared, sent := n.entry.Private && !n.private, n.entry.External && !n.external, int64(0)
		if w := n.written; w != nil && !w.Deleted && w.SentUS-activityResolution.Microseconds() >= n.active {
			sent = w.SentUS
		}
		if !shut && !shared && sent == 0 {
			continue
		}
		key := rowKey(n.message.Team, n.message.Channel, "")
		row := touched[key]
		row.TeamID, row.ChannelID, row.ActiveUS = n.message.Team, n.message.Channel, max(row.ActiveUS, sent)
		row.External = row.External || shared
		if shut {
			row.Private, row.ClosedUS = true, s.nowMicros()
		}
		touched[key] = row
	}
	if len(touched) == 0 {
		return nil
	}
	var rows []channelUpdate
	for _, key := range slices.Sorted(maps.Keys(touched)) { // one order for all who write
		rows = append(rows, touched[key])
	}
	return saveChannelUpdates(tx, rows)
}

// CloseChannel keeps that not everybody may read a channel, as Slack has just said. One
// that is closed already is only read.
func (s *Store) CloseChannel(ctx context.Context, team, channel string) error {
	known, err := s.Channels(ctx, team, []string{channel})
	if err != nil || known[channel].Private {
		return err
	}
	row := channelUpdate{TeamID: team, ChannelID: channel, Private: true, ClosedUS: s.nowMicros()}
	if err := saveChannelUpdates(s.db.WithContext(ctx), []channelUpdate{row}); err != nil {
		return fmt.Errorf("close channel %s: %w", channel, err)
	}
	return nil
}

// channelUpdate is what is new of a channel: that it is closed, and since when, that others read
// it, or when it was active; what is 0 or false is not told.
type channelUpdate struct {
	TeamID    string `json:"team_id"`
	ChannelID string `json:"channel_id"`
	Private   bool   `json:"private"`
	ClosedUS  int64  `gorm:"column:closed_us" json:"closed_us"`
	External  bool   `json:"external"`
	ActiveUS  int64  `gorm:"column:active_us" json:"active_us"`
}

// saveChannelUpdates writes it down, of each channel once and in order of id. It opens none.
func saveChannelUpdates(tx *gorm.DB, rows []channelUpdate) error {
	set, err := newRowset(tx, rows)
	if err != nil {
		return err
	}
	columns := strings.Join(set.columns, ", ")
	return tx.Exec("INSERT INTO channels ("+columns+") SELECT "+columns+" FROM "+set.sql+` WHERE TRUE
		ON CONFLICT (team_id, channel_id) DO UPDATE SET
			active_us = CASE WHEN excluded.active_us > channels.active_us THEN excluded.active_us ELSE channels.active_us END,
			closed_us = CASE WHEN excluded.private AND NOT channels.private THEN excluded.closed_us ELSE channels.closed_us END,
			converted_us = CASE WHEN excluded.private AND NOT channels.private THEN excluded.closed_us ELSE channels.converted_us END,
			external = channels.external OR excluded.external,
			private = channels.private OR excluded.private`, set.arg).Error
}

// Teams is the workspaces of which the database knows a channel; two of them if there are more.
func (s *Store) Teams(ctx context.Context) (teams []string, err error) {
	if err := s.db.WithContext(ctx).Model(&channelRow{}).Distinct("team_id").Order("team_id").Limit(2).Pluck("team_id", &teams).Error; err != nil {
		return nil, fmt.Errorf("read which workspaces are known: %w", err)
	}
	return teams, nil
}

// ChannelsNamed is the channels that have a name, or had it when Slack was last asked.
func (s *Store) ChannelsNamed(ctx context.Context, team, name string) ([]Channel, error) {
	var rows []channelRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND name = ? AND name <> ''", team, name).Order("channel_id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read channels named %q: %w", name, err)
	}
	return mapRows(rows, channelRow.channel), nil
}
