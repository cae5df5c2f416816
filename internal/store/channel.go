package store

import (
	"cmp"
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
	RefreshedUS       int64
	NextPostUS        int64
	Member            bool
	Archived          bool
	ClosedUS          int64
	ConvertedUS       int64
	KnownSinceUS      int64
	CaughtUpTo        string
	ThreadsCaughtUpTo string
	ThreadsReadUS     int64
	External          bool
	SharedUS          int64
	OrgShared         bool
	MembersUS         int64
	ActiveUS          int64
	IntroducedUS      int64
	ReadGap           int64
	Remember          string // as set in Slack; saveRemember alone writes it
}

func (channelRow) TableName() string { return "channels" }

// Channel is a channel as Slack described it when last asked. A direct message has no name.
type Channel struct {
	ID      string
	Name    string
	Private bool
	// External is set while people of other companies are in it (Slack Connect).
	External bool
	// OrgShared is set while people of other workspaces of the organisation are in it, unless they
	// count as the workspace's own.
	OrgShared bool
	// Shared is since when either is known; zero while neither is set.
	Shared time.Time
	// Refreshed is when Slack was last asked, or up to an hour earlier if a listing repeated the
	// answer. It is zero for a channel that Slack was never asked about.
	Refreshed time.Time
	// Member is set while the bot is in it, according to Slack's last answer.
	Member, Archived bool
	// KnownSince is when the bot came to know it: catch-up never answers earlier messages. It is
	// zero for a channel that Slack was never asked about.
	KnownSince time.Time
	// CaughtUpTo and ThreadsCaughtUpTo are the ts up to which Slack's history has been read: of the
	// top level, and of the replies. They are empty if it never was.
	CaughtUpTo, ThreadsCaughtUpTo string
	// ThreadsRead is when the replies were last read; zero for never.
	ThreadsRead time.Time
}

func (r channelRow) channel() Channel {
	return Channel{
		ID: r.ChannelID, Name: r.Name, Private: r.Private, External: r.External, OrgShared: r.OrgShared,
		Shared: instantOrZero(r.SharedUS), Refreshed: instantOrZero(r.RefreshedUS),
		Member: r.Member, Archived: r.Archived, KnownSince: instantOrZero(r.KnownSinceUS),
		CaughtUpTo: r.CaughtUpTo, ThreadsCaughtUpTo: r.ThreadsCaughtUpTo, ThreadsRead: instantOrZero(r.ThreadsReadUS),
	}
}

// Channels is the known channels among the ids.
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

// SaveChannel writes what Slack says about a channel. It ignores c.KnownSince and the catch-up
// marks. A channel that Slack was never asked about before is known since now, or since its first
// message that an event brought. A direct message is known as long as any channel is. An empty name
// leaves the known one.
//
// Answers may arrive out of order. An answer from before Slack said that the channel is private
// does not open it. From an answer older than the saved one, only a closing counts.
func (s *Store) SaveChannel(ctx context.Context, team string, c Channel) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		var known []channelRow
		if err := s.locked(tx).Where("team_id = ? AND channel_id = ? AND refreshed_us <> 0", team, c.ID).Find(&known).
			Error; err != nil {
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
		if err := tx.Raw("SELECT COALESCE(MIN(known_since_us), 0) FROM channels WHERE team_id = ? AND known_since_us "+
			"> 0", team).
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

// refreshed is the row for what Slack says about a channel, as if it were known since then.
func (s *Store) refreshed(team string, c Channel) channelRow {
	at := microsOrZero(c.Refreshed)
	if at == 0 {
		at = s.nowMicros()
	}
	row := channelRow{
		TeamID: team, ChannelID: c.ID, Name: c.Name, Private: c.Private, External: c.External, OrgShared: c.OrgShared,
		RefreshedUS: at,
		Member:      c.Member, Archived: c.Archived, KnownSinceUS: at,
	}
	if c.Private {
		row.ClosedUS = at
	}
	if c.External || c.OrgShared {
		row.SharedUS = at
	}
	return row
}

// superseded reports whether the saved row comes from a later answer of Slack than one asked for at
// an instant. A time in the future comes from a clock that was wrong, and does not count.
func (s *Store) superseded(asked int64, known channelRow) bool {
	return known.RefreshedUS > asked && known.RefreshedUS <= s.nowMicros()
}

// mergeOutdated is the saved row after an older answer arrives late: it becomes private or shared
// if that answer says so.
func (r channelRow) mergeOutdated(known channelRow) channelRow {
	known.Private, known.ClosedUS = known.Private || r.Private, max(known.ClosedUS, r.ClosedUS)
	known.External, known.SharedUS = known.External || r.External, cmp.Or(known.SharedUS, r.SharedUS)
	known.OrgShared = known.OrgShared || r.OrgShared
	return known
}

// upsertChannels writes channels, each once and in order of id. It leaves the catch-up marks, the
// activity and the next post's time alone.
func upsertChannels(tx *gorm.DB, rows []channelRow) error {
	if len(rows) == 0 {
		return nil
	}
	update := clause.AssignmentColumns([]string{"refreshed_us", "member", "archived", "external", "org_shared",
		"known_since_us"})
	update = append(update, clause.Assignments(map[string]any{
		"name":    gorm.Expr("CASE WHEN excluded.name = '' THEN channels.name ELSE excluded.name END"),
		"private": gorm.Expr("excluded.private OR channels.closed_us > excluded.refreshed_us"),
		"closed_us": gorm.Expr("CASE WHEN excluded.closed_us > channels.closed_us THEN excluded.closed_us ELSE " +
			"channels.closed_us END"),
		"shared_us": gorm.Expr("CASE WHEN excluded.shared_us > 0 AND channels.shared_us > 0 THEN " +
			"channels.shared_us ELSE excluded.shared_us END"),
		"converted_us": gorm.Expr("CASE WHEN excluded.private AND NOT channels.private THEN excluded.refreshed_us " +
			"ELSE channels.converted_us END"),
		// No events came from a channel that the bot was not in.
		"read_gap": gorm.Expr("CASE WHEN excluded.member AND (NOT channels.member OR channels.archived) THEN 0 ELSE " +
			"channels.read_gap END"),
	})...)
	return tx.Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "team_id"}, {Name: "channel_id"}}, DoUpdates: update,
	}).CreateInBatches(rows, 100).Error
}

// upsertNewChannels is upsertChannels for new channels of one team. They are known since their
// first message that an event brought, if that is earlier. A direct message is known as long as any
// channel is, which is since first (0: there is none). Nothing was said in it before the bot
// existed, and a person who starts one while the programs are down is to get an answer.
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

// activityResolution is the precision of active_us. A busy channel's row is written once in that
// time and otherwise only read, because its writers wait for each other.
const activityResolution = time.Minute

// saveActivity updates a channel's active_us after a message was written. The value is never later
// than the newest message and at most activityResolution earlier. It does not move back when
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

// updateChannels saves what a group's events say about their channels: their activity (as
// saveActivity does), and that they are private or shared. Most events say nothing new.
func (s *Store) updateChannels(tx *gorm.DB, group []*recording) error {
	updates := map[string]channelUpdate{}
	for _, n := range group {
		closes, shared, sent := n.entry.Private && !n.private, n.entry.External && !n.external, int64(0)
		if w := n.written; w != nil && !w.Deleted && w.SentUS-activityResolution.Microseconds() >= n.active {
			sent = w.SentUS
		}
		if !closes && !shared && sent == 0 {
			continue
		}
		key := rowKey(n.message.Team, n.message.Channel, "")
		row := updates[key]
		row.TeamID, row.ChannelID, row.ActiveUS = n.message.Team, n.message.Channel, max(row.ActiveUS, sent)
		if shared {
			row.External, row.SharedUS = true, s.nowMicros()
		}
		if closes {
			row.Private, row.ClosedUS = true, s.nowMicros()
		}
		updates[key] = row
	}
	if len(updates) == 0 {
		return nil
	}
	var rows []channelUpdate
	for _, key := range slices.Sorted(maps.Keys(updates)) { // one order for all writers
		rows = append(rows, updates[key])
	}
	return saveChannelUpdates(tx, rows)
}

// CloseChannel records that a channel is private, as Slack has just said. If it is known as private
// already, it is only read.
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

// channelUpdate is what is new about a channel: that it is private and since when, that it is
// shared, or when it was active. Zero values change nothing.
type channelUpdate struct {
	TeamID    string `json:"team_id"`
	ChannelID string `json:"channel_id"`
	Private   bool   `json:"private"`
	ClosedUS  int64  `json:"closed_us"`
	External  bool   `json:"external"`
	SharedUS  int64  `json:"shared_us"`
	ActiveUS  int64  `json:"active_us"`
}

// saveChannelUpdates writes updates, each channel once and in order of id. It never opens a
// channel.
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
			shared_us = CASE WHEN channels.shared_us > 0 THEN channels.shared_us ELSE excluded.shared_us END,
			private = channels.private OR excluded.private`, set.arg).Error
}

// Teams is the workspaces that have a channel in the database, at most two.
func (s *Store) Teams(ctx context.Context) (teams []string, err error) {
	if err := s.db.WithContext(ctx).Model(&channelRow{}).Distinct("team_id").Order("team_id").Limit(2).
		Pluck("team_id", &teams).Error; err != nil {
		return nil, fmt.Errorf("read workspaces: %w", err)
	}
	return teams, nil
}

// TeamsWith is the workspaces that have a channel of an id or a name, at most two.
func (s *Store) TeamsWith(ctx context.Context, id, name string) (teams []string, err error) {
	if err := s.db.WithContext(ctx).Model(&channelRow{}).Where("channel_id = ? OR (name = ? AND name <> '')", id, name).
		Distinct("team_id").Order("team_id").Limit(2).Pluck("team_id", &teams).Error; err != nil {
		return nil, fmt.Errorf("read workspaces with a channel: %w", err)
	}
	return teams, nil
}

// ChannelsNamed is the channels that have a name, according to Slack's last answer.
func (s *Store) ChannelsNamed(ctx context.Context, team, name string) ([]Channel, error) {
	var rows []channelRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND name = ? AND name <> ''", team, name).Order("channel_id").
		Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read channels named %q: %w", name, err)
	}
	return mapRows(rows, channelRow.channel), nil
}
