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

// Synced counts what a listing of channels changed.
type Synced struct {
	Joined, Left, Renamed, Archived int
}

const (
	// syncTogether is how many channels of a listing are written at once: whoever has something
	// of one of them to write waits for that, and not for the whole listing.
	syncTogether = 200
	// saidAgain is how often it is written down when Slack says of a channel what it said before.
	saidAgain = time.Hour
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
func (s *Store) SyncChannels(ctx context.Context, team string, listed []Channel) (synced Synced, err error) {
	fresh := make(map[string]channelRow, len(listed)) // a page may repeat what the one before had
	asked := s.nowMicros()
	for _, c := range listed {
		c.Member = true
		fresh[c.ID] = s.refreshed(team, c)
		asked = min(asked, fresh[c.ID].RefreshedUS)
	}
	failed := func(err error) (Synced, error) {
		return Synced{}, fmt.Errorf("take in %d channels: %w", len(listed), err)
	}
	var rows []channelRow
	if err := s.db.WithContext(ctx).Where("team_id = ?", team).Order("channel_id").Find(&rows).Error; err != nil {
		return failed(err)
	}
	known := make(map[string]channelRow, len(rows))
	var missing, ids []string // of which there is something to write down; of the missing there is no row
	first := int64(0)
	for _, old := range rows {
		known[old.ChannelID] = old
		if _, there := fresh[old.ChannelID]; old.Member && !there {
			ids = append(ids, old.ChannelID)
		}
		if since := old.KnownSinceUS; since > 0 && (first == 0 || since < first) {
			first = since
		}
	}
	for id, c := range fresh {
		switch old, there := known[id]; {
		case !there:
			missing = append(missing, id)
		case old.RefreshedUS == 0 || c.news(old):
			ids = append(ids, id)
		}
	}
	// Rows are made by themselves: whoever records messages makes and changes rows in one
	// order, and would wait for one that is locked here, while that one is waited for which
	// they have made. All that are locked together are there already.
	slices.Sort(missing)
	for some := range slices.Chunk(missing, syncTogether) {
		if err := s.makeChannels(ctx, team, some); err != nil {
			return failed(err)
		}
	}
	ids = append(ids, missing...)
	slices.Sort(ids) // one order for all who write
	for some := range slices.Chunk(ids, syncTogether) {
		if err := s.takeIn(ctx, team, some, fresh, asked, first, &synced); err != nil {
			return failed(err)
		}
	}
	return synced, nil
}

// news reports whether what Slack says of a channel must be written down, being known as old. Of
// a private channel it always must, since what Slack said before does not open it; a direct
// message is never open.
func (r channelRow) news(old channelRow) bool {
	direct := (chat.Conversation{Channel: r.ChannelID}).Direct()
	return r.Private != old.Private || r.Private && !direct || !old.Member || r.Archived != old.Archived || r.External != old.External ||
		r.Name != "" && r.Name != old.Name || r.RefreshedUS-old.RefreshedUS >= saidAgain.Microseconds()
}

// makeChannels makes the rows of channels, in order of id, as they are of channels that Slack
// was never asked about; those that are there stay as they are.
func (s *Store) makeChannels(ctx context.Context, team string, ids []string) error {
	rows := make([]channelRow, len(ids))
	for i, id := range ids {
		rows[i] = channelRow{TeamID: team, ChannelID: id}
	}
	return s.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&rows).Error
}

// takeIn writes down what a listing says of some channels, of which it decides by what is
// known of them now. What it does not say anything of is left, unless Slack has said something
// of it since the listing was asked for. first is as in meet.
func (s *Store) takeIn(ctx context.Context, team string, ids []string, fresh map[string]channelRow, asked, first int64, all *Synced) error {
	var synced Synced
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		var rows []channelRow
		if err := s.locked(tx).Where("team_id = ? AND ?", team, s.among("channel_id", ids)).Order("channel_id").Find(&rows).Error; err != nil {
			return err
		}
		known := make(map[string]channelRow, len(rows))
		for _, old := range rows {
			known[old.ChannelID] = old
		}
		var met, others []channelRow
		var left []string
		for _, id := range ids {
			row, listed := fresh[id]
			old := known[id]
			switch {
			case !listed:
				if old.Member && !s.overtaken(asked, old) {
					left = append(left, id)
				}
				continue
			case old.RefreshedUS == 0:
				synced.Joined++
				met = append(met, row)
				continue
			case s.overtaken(row.RefreshedUS, old):
				others = append(others, row.beside(old))
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
		if err := s.meet(tx, met, first); err != nil {
			return err
		}
		if err := describe(tx, others); err != nil || len(left) == 0 {
			return err
		}
		return tx.Model(&channelRow{}).Where("team_id = ? AND ?", team, s.among("channel_id", left)).Update("member", false).Error
	})
	if err != nil {
		return err
	}
	all.Joined, all.Left = all.Joined+synced.Joined, all.Left+synced.Left
	all.Renamed, all.Archived = all.Renamed+synced.Renamed, all.Archived+synced.Archived
	return nil
}

// Memberships is the channels that the bot is in and that are not archived, the most
// recently active first, as exactly as ChannelKnowledge.Active tells.
func (s *Store) Memberships(ctx context.Context, team string) ([]Channel, error) {
	var rows []channelRow
	if err := s.db.WithContext(ctx).Table("channels c").Where("c.team_id = ? AND "+present, team).
		Order("c.active_us DESC, c.channel_id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read memberships: %w", err)
	}
	channels := make([]Channel, len(rows))
	for i, r := range rows {
		channels[i] = r.channel()
	}
	return channels, nil
}

// Unwatched is the public channels that the bot is not in: no event and no listing tells
// when one of them is made private. They are those of which Slack was asked before a time,
// longest ago first, at most limit.
func (s *Store) Unwatched(ctx context.Context, team string, before time.Time, limit int) (ids []string, err error) {
	if err := s.db.WithContext(ctx).Table("channels c").
		Where("c.team_id = ? AND NOT c.member AND c.refreshed_us < ? AND ?", team, stamp(before), seenFrom(team, "")).
		Order("c.refreshed_us, c.channel_id").Limit(limit).Pluck("c.channel_id", &ids).Error; err != nil {
		return nil, fmt.Errorf("read public channels that the bot is not in: %w", err)
	}
	return ids, nil
}

// CaughtUp moves the marks of a channel; an empty ts leaves a mark, and none moves back.
// threadsRead is when the threads were read; the zero time leaves that, too. A channel
// that is not known is ErrNotFound.
func (s *Store) CaughtUp(ctx context.Context, team, channel, to, threadsTo string, threadsRead time.Time) error {
	later := func(column string, value any) any {
		return gorm.Expr("CASE WHEN "+column+" < ? THEN ? ELSE "+column+" END", value, value)
	}
	moved := s.db.WithContext(ctx).Model(&channelRow{}).Where("team_id = ? AND channel_id = ?", team, channel).
		Updates(map[string]any{
			"caught_up_to":         later("caught_up_to", to),
			"threads_caught_up_to": later("threads_caught_up_to", threadsTo),
			"threads_read_us":      later("threads_read_us", stamp(threadsRead)),
		})
	if moved.Error != nil {
		return fmt.Errorf("move marks of %s: %w", channel, moved.Error)
	}
	if moved.RowsAffected == 0 {
		return fmt.Errorf("move marks of %s: %w", channel, ErrNotFound)
	}
	return nil
}

// Unhandled is messages of a channel that were seen in Slack's history and whose own event
// has not come, sent at or after a time, the oldest first, at most limit: those that follow
// the ts after, or with after empty from the first. Deleted ones are left out.
func (s *Store) Unhandled(ctx context.Context, team, channel string, since time.Time, after string, limit int) ([]chat.Message, error) {
	var rows []messageRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND channel_id = ? AND sent_us >= ? AND NOT handled AND NOT deleted",
		team, channel, max(stamp(since), stamp(chat.Time(after))+1)).
		Order("sent_us").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read unhandled messages of %s: %w", channel, err)
	}
	return messages(rows), nil
}

// ActiveThreads is the ts of the parents of a channel's threads that have a reply sent since a
// time, the most recently active first.
func (s *Store) ActiveThreads(ctx context.Context, team, channel string, since time.Time) ([]string, error) {
	var threads []string
	if err := s.db.WithContext(ctx).Model(&messageRow{}).
		Where("team_id = ? AND channel_id = ? AND sent_us >= ? AND thread_ts <> '' AND NOT deleted", team, channel, stamp(since)).
		Group("thread_ts").Order("MAX(sent_us) DESC").Pluck("thread_ts", &threads).Error; err != nil {
		return nil, fmt.Errorf("read active threads of %s: %w", channel, err)
	}
	return threads, nil
}
