package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// seenFrom is the one condition on the channels c that lets a reader in a channel, or
// with here empty the workspace itself, know what they hold and what they are called:
// a channel is seen from inside, and from everywhere if Slack has said that it is
// public. What Slack was never asked about may be private.
//
// Whatever reads of one channel for another goes through here.
func seenFrom(here string) clause.Expr {
	return clause.Expr{SQL: "(c.channel_id = ? OR c.refreshed_us > 0 AND NOT c.private)", Vars: []any{here}}
}

// present is the condition on the channels c that the bot takes part in them.
const present = "(c.member AND NOT c.archived)"

// ChannelNames is the names of those of the channels that a reader in one of them, or
// with here empty everybody, may know.
func (s *Store) ChannelNames(ctx context.Context, team, here string, ids []string) (map[string]string, error) {
	names := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return names, nil
	}
	var rows []channelRow
	if err := s.db.WithContext(ctx).Raw("SELECT c.channel_id, c.name FROM channels c WHERE c.team_id = ? AND c.channel_id IN ? AND c.name <> '' AND ?",
		team, ids, seenFrom(here)).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("read names of channels: %w", err)
	}
	for _, r := range rows {
		names[r.ChannelID] = r.Name
	}
	return names, nil
}

// ChannelKnowledge is a channel with the memories in force; the ids are 0, and the times zero, where there is none.
type ChannelKnowledge struct {
	chat.ChannelMemory
	LongID, ShortID     int64
	LongMade, ShortMade time.Time
	// Active is about when the newest message in it was sent: up to a minute earlier,
	// and though it may have been deleted since. The zero time for never.
	Active time.Time
}

// Knowledge is what memory holds for a reader.
type Knowledge struct {
	// Channels are those Active since a time that the reader may know of, and the
	// reader's own, the most recently active first; those that the bot has left and
	// archived ones are not among them, but for the reader's own. Of all but the first
	// most, and the reader's own, the memories are left out.
	Channels []ChannelKnowledge
	// Untold is how many channels have a memory that was left out.
	Untold int
}

type knownRow struct {
	id, name    string
	long, short int64 // ids of memories, or 0
	active      int64
}

// Knowledge is what a reader in a channel may know, or with here empty the workspace
// itself: a private channel is known only inside it. active is compared with Active. The
// workspace does not know what was remembered before its own memory was forgotten.
func (s *Store) Knowledge(ctx context.Context, team, here string, active time.Time, most int) (Knowledge, error) {
	known, err := s.known(ctx, team, here, active)
	if err != nil {
		return Knowledge{}, fmt.Errorf("read which channels are known: %w", err)
	}
	var k Knowledge
	var told []int64
	for i, r := range known {
		k.Channels = append(k.Channels, ChannelKnowledge{
			ChannelMemory: chat.ChannelMemory{ChannelID: r.id, ChannelName: r.name}, Active: moment(r.active),
		})
		switch {
		case i < most || r.id == here:
			told = append(told, r.long, r.short)
		case r.long != 0 || r.short != 0:
			k.Untold++
		}
	}
	if len(told) == 0 {
		return k, nil
	}
	var memories []memoryRow
	if err := s.db.WithContext(ctx).Select("id", "channel_id", "term", "text", "made_us").Where("id IN ?", told).Find(&memories).Error; err != nil {
		return Knowledge{}, fmt.Errorf("read memories: %w", err)
	}
	if here == "" {
		lost, err := forgotten(s.db.WithContext(ctx), team, "")
		if err != nil {
			return Knowledge{}, fmt.Errorf("read what was forgotten: %w", err)
		}
		for _, f := range lost {
			memories = slices.DeleteFunc(memories, func(m memoryRow) bool { return m.MadeUS <= f.UntilUS })
		}
	}
	k.tell(memories)
	return k, nil
}

// known is the channels of Knowledge.
func (s *Store) known(ctx context.Context, team, here string, active time.Time) (rows []knownRow, err error) {
	found, err := s.db.WithContext(ctx).Raw(`
		SELECT c.channel_id, c.name, COALESCE(s.long_id, 0), COALESCE(s.short_id, 0), c.active_us
		FROM channels c
		LEFT JOIN memory_scopes s ON s.team_id = c.team_id AND s.channel_id = c.channel_id AND s.thread_ts = ''
		WHERE c.team_id = ? AND (`+present+` AND c.active_us >= ? OR c.channel_id = ?) AND ?
		ORDER BY c.active_us DESC, c.channel_id`, team, max(1, stamp(active)), here, seenFrom(here)).Rows()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	for found.Next() { // for so many rows gorm's own way takes longer than the database
		var r knownRow
		if err := found.Scan(&r.id, &r.name, &r.long, &r.short, &r.active); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, found.Err()
}

// tell puts memories where they belong.
func (k *Knowledge) tell(memories []memoryRow) {
	channels := make(map[string]*ChannelKnowledge, len(k.Channels))
	for i := range k.Channels {
		channels[k.Channels[i].ChannelID] = &k.Channels[i]
	}
	for _, m := range memories {
		c := channels[m.ChannelID]
		if chat.Term(m.Term) == chat.LongTerm {
			c.LongTerm, c.LongID, c.LongMade = m.Text, m.ID, instant(m.MadeUS)
		} else {
			c.ShortTerm, c.ShortID, c.ShortMade = m.Text, m.ID, instant(m.MadeUS)
		}
	}
}

// ThreadMemories is the summaries in force of a channel's threads that were made since a
// time, the newest most of them, by the threads' ts, and how many more there are, up to
// chat.CountAtMost.
func (s *Store) ThreadMemories(ctx context.Context, team, channel string, since time.Time, most int) (memories map[string]string, untold int, err error) {
	db := s.db.WithContext(ctx)
	var rows []memoryRow
	// updated_us is never before made_us, and the index knows it.
	if err := db.Raw(`
		SELECT m.id, m.thread_ts FROM memory_scopes s JOIN memories m ON m.id = s.short_id
		WHERE s.team_id = ? AND s.channel_id = ? AND s.thread_ts <> '' AND s.updated_us >= ? AND m.made_us >= ?
		ORDER BY m.made_us DESC, m.thread_ts DESC LIMIT ?`,
		team, channel, stamp(since), stamp(since), most+chat.CountAtMost).Scan(&rows).Error; err != nil {
		return nil, 0, fmt.Errorf("read memories of threads in %s: %w", channel, err)
	}
	untold = max(0, len(rows)-most)
	ids := make([]int64, len(rows)-untold)
	for i := range ids {
		ids[i] = rows[i].ID
	}
	memories = make(map[string]string, len(ids))
	if len(ids) == 0 {
		return memories, untold, nil
	}
	var texts []memoryRow
	if err := db.Select("thread_ts", "text").Where("id IN ?", ids).Find(&texts).Error; err != nil {
		return nil, 0, fmt.Errorf("read memories of threads in %s: %w", channel, err)
	}
	for _, r := range texts {
		memories[r.ThreadTS] = r.Text
	}
	return memories, untold, nil
}
