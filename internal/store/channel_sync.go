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

// SyncResult counts what a listing of channels changed.
type SyncResult struct {
	Joined, Left, Renamed, Archived int
}

// listing is what Slack's listing says about a workspace's channels.
type listing struct {
	team  string
	fresh map[string]channelRow // by id
	asked int64                 // when Slack was asked for it
	first int64                 // since when any channel is known (upsertNewChannels)
}

const (
	// syncChunkSize is how many channels of a listing are written in one transaction. Other writers
	// of a channel wait for its transaction only, not for the whole listing.
	syncChunkSize = 200
	// refreshEvery is how often refreshed_us is written while Slack repeats what it said before.
	refreshEvery = time.Hour
)

// SyncChannels takes in a complete listing of the channels that the bot is in. A channel that is
// not listed was left; its row and its memories stay. A channel that is new, or joined again, is
// known since the listing. A new one may be known for longer: since the first of its messages that
// an event brought, or, for a direct message, as long as any channel.
//
// Channel.Refreshed is when Slack was asked, or now. If Slack was asked about a channel later, that
// answer stays. Unchanged channels are only read. The others are written in chunks, so after an
// error a part of the listing may be taken in.
func (s *Store) SyncChannels(ctx context.Context, team string, listed []Channel) (synced SyncResult, err error) {
	l := listing{team: team, fresh: make(map[string]channelRow, len(listed)), asked: s.nowMicros()}
	for _, c := range listed { // a page may repeat channels of the page before
		c.Member = true
		l.fresh[c.ID] = s.refreshed(team, c)
		l.asked = min(l.asked, l.fresh[c.ID].RefreshedUS)
	}
	failed := func(err error) (SyncResult, error) {
		return SyncResult{}, fmt.Errorf("save listing of %d channels: %w", len(listed), err)
	}
	var rows []channelRow
	if err := s.db.WithContext(ctx).Where("team_id = ?", team).Order("channel_id").Find(&rows).Error; err != nil {
		return failed(err)
	}
	known := make(map[string]channelRow, len(rows))
	var missing, ids []string // channels to write; those in missing have no row yet
	for _, old := range rows {
		known[old.ChannelID] = old
		if _, there := l.fresh[old.ChannelID]; old.Member && !there {
			ids = append(ids, old.ChannelID)
		}
		if since := old.KnownSinceUS; since > 0 && (l.first == 0 || since < l.first) {
			l.first = since
		}
	}
	for id, c := range l.fresh {
		switch old, there := known[id]; {
		case !there:
			missing = append(missing, id)
		case old.RefreshedUS == 0 || c.changed(old):
			ids = append(ids, id)
		}
	}
	// Insert new rows in their own transaction; otherwise we could deadlock with Record, which
	// inserts and updates rows in one order. All rows that are locked together below exist by then.
	slices.Sort(missing)
	for some := range slices.Chunk(missing, syncChunkSize) {
		if err := s.insertChannels(ctx, team, some); err != nil {
			return failed(err)
		}
	}
	ids = append(ids, missing...)
	slices.Sort(ids) // one order for all writers
	for some := range slices.Chunk(ids, syncChunkSize) {
		taken, err := s.syncChunk(ctx, l, some)
		if err != nil {
			return failed(err)
		}
		synced.Joined, synced.Left = synced.Joined+taken.Joined, synced.Left+taken.Left
		synced.Renamed, synced.Archived = synced.Renamed+taken.Renamed, synced.Archived+taken.Archived
	}
	return synced, nil
}

// changed reports whether what Slack says about a channel must be written, given the row old. A
// private channel always must, so that an older answer cannot open it. Direct messages are never
// open.
func (r channelRow) changed(old channelRow) bool {
	direct := (chat.Conversation{Channel: r.ChannelID}).Direct()
	return r.Private != old.Private || r.Private && !direct || !old.Member || r.Archived != old.Archived ||
		r.External != old.External || r.OrgShared != old.OrgShared ||
		r.Name != "" && r.Name != old.Name || r.RefreshedUS-old.RefreshedUS >= refreshEvery.Microseconds()
}

// insertChannels inserts rows of channels that Slack was never asked about, in order of id.
// Existing rows stay as they are.
func (s *Store) insertChannels(ctx context.Context, team string, ids []string) error {
	rows := make([]channelRow, len(ids))
	for i, id := range ids {
		rows[i] = channelRow{TeamID: team, ChannelID: id}
	}
	return s.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&rows).Error
}

// syncChunk writes what a listing says about some channels, depending on their current rows. A
// channel that is not listed was left, unless Slack has said something about it since the listing
// was requested.
func (s *Store) syncChunk(ctx context.Context, l listing, ids []string) (synced SyncResult, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		var rows []channelRow
		if err := s.locked(tx).Where("team_id = ? AND ?", l.team, s.inList("channel_id", ids)).Order("channel_id").
			Find(&rows).Error; err != nil {
			return err
		}
		known := make(map[string]channelRow, len(rows))
		for _, old := range rows {
			known[old.ChannelID] = old
		}
		var met, others []channelRow
		var left []string
		for _, id := range ids {
			row, listed := l.fresh[id]
			old := known[id]
			switch {
			case !listed:
				if old.Member && !s.superseded(l.asked, old) {
					left = append(left, id)
				}
				continue
			case old.RefreshedUS == 0:
				synced.Joined++
				met = append(met, row)
				continue
			case s.superseded(row.RefreshedUS, old):
				others = append(others, row.mergeOutdated(old))
				continue
			case !old.Member:
				synced.Joined++
			default:
				row.KnownSinceUS = old.KnownSinceUS
			}
			if row.Name != "" && old.Name != "" && row.Name != old.Name {
				synced.Renamed++
			}
			if row.Archived && !old.Archived {
				synced.Archived++
			}
			others = append(others, row)
		}
		synced.Left = len(left)
		if err := s.upsertNewChannels(tx, met, l.first); err != nil {
			return err
		}
		if err := upsertChannels(tx, others); err != nil || len(left) == 0 {
			return err
		}
		return tx.Model(&channelRow{}).Where("team_id = ? AND ?", l.team, s.inList("channel_id", left)).
			Update("member", false).Error
	})
	return synced, err
}
