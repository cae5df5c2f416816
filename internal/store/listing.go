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

// listing is what a listing says of a workspace's channels.
type listing struct {
	team  string
	fresh map[string]channelRow // by id
	asked int64                 // when Slack was asked for it
	first int64                 // since when any channel is known (meet)
}

const (
	// syncChunkSize is how many channels of a listing are written at once: whoever has something
	// of one of them to write waits for that, and not for the whole listing.
	syncChunkSize = 200
	// refreshEvery is how often it is written down when Slack says of a channel what it said before.
	refreshEvery = time.Hour
)

// SyncChannels takes in a complete listing of the channels that the bot is in. What is
// not among them is left: its row stays, and its memories. A channel that is new, or
// was left and is joined again, is known since it was listed; one that is new, also
// since the first of its messages that an event brought, if that is earlier, or if it
// is a direct message, as long as any other channel is.
// Listed is when Slack was asked (Refreshed), or now: of a channel that Slack was asked about
// later, what it said then stays. Of most channels there is nothing new:
// they are only read. The others are written some at a time, so that an error may leave a
// part of the listing taken in.
func (s *Store) SyncChannels(ctx context.Context, team string, listed []Channel) (synced SyncResult, err error) {
	l := listing{team: team, fresh: make(map[string]channelRow, len(listed)), asked: s.nowMicros()}
	for _, c := range listed { // a page may repeat what the one before had
		c.Member = true
		l.fresh[c.ID] = s.refreshed(team, c)
		l.asked = min(l.asked, l.fresh[c.ID].RefreshedUS)
	}
	failed := func(err error) (SyncResult, error) {
		return SyncResult{}, fmt.Errorf("take in %d channels: %w", len(listed), err)
	}
	var rows []channelRow
	if err := s.db.WithContext(ctx).Where("team_id = ?", team).Order("channel_id").Find(&rows).Error; err != nil {
		return failed(err)
	}
	known := make(map[string]channelRow, len(rows))
	var missing, ids []string // of which there is something to write down; of the missing there is no row
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
	// Rows are made by themselves: whoever records messages makes and changes rows in one
	// order, and would wait for one that is locked here, while that one is waited for which
	// they have made. All that are locked together are there already.
	slices.Sort(missing)
	for some := range slices.Chunk(missing, syncChunkSize) {
		if err := s.insertChannels(ctx, team, some); err != nil {
			return failed(err)
		}
	}
	ids = append(ids, missing...)
	slices.Sort(ids) // one order for all who write
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

// changed reports whether what Slack says of a channel must be written down, being known as old. Of
// a private channel it always must, since what Slack said before does not open it; a direct
// message is never open.
func (r channelRow) changed(old channelRow) bool {
	direct := (chat.Conversation{Channel: r.ChannelID}).Direct()
	return r.Private != old.Private || r.Private && !direct || !old.Member || r.Archived != old.Archived || r.External != old.External ||
		r.Name != "" && r.Name != old.Name || r.RefreshedUS-old.RefreshedUS >= refreshEvery.Microseconds()
}

// insertChannels makes the rows of channels, in order of id, as they are of channels that Slack
// was never asked about; those that are there stay as they are.
func (s *Store) insertChannels(ctx context.Context, team string, ids []string) error {
	rows := make([]channelRow, len(ids))
	for i, id := range ids {
		rows[i] = channelRow{TeamID: team, ChannelID: id}
	}
	return s.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&rows).Error
}

// syncChunk writes down what a listing says of some channels, of which it decides by what is
// known of them now. What it does not say anything of is left, unless Slack has said something
// of it since the listing was asked for.
func (s *Store) syncChunk(ctx context.Context, l listing, ids []string) (synced SyncResult, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		var rows []channelRow
		if err := s.locked(tx).Where("team_id = ? AND ?", l.team, s.inList("channel_id", ids)).Order("channel_id").Find(&rows).Error; err != nil {
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
		return tx.Model(&channelRow{}).Where("team_id = ? AND ?", l.team, s.inList("channel_id", left)).Update("member", false).Error
	})
	return synced, err
}
