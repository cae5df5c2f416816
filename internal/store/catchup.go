package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// Synced counts what a listing of channels changed.
type Synced struct {
	Joined, Left, Renamed, Archived int
}

// SyncChannels takes in a complete listing of the channels that the bot is in. What is
// not among them is left: its row stays, and its memories. A channel that is new, or
// was left and is joined again, is known since it was listed; one that is new, also
// since the first of its messages that an event brought, if that is earlier, or if it
// is a direct message, as long as any other channel is.
// Listed is when Slack was asked (Refreshed), or now.
func (s *Store) SyncChannels(ctx context.Context, team string, listed []Channel) (Synced, error) {
	fresh := make(map[string]channelRow, len(listed)) // a page may repeat what the one before had
	for _, c := range listed {
		c.Member = true
		fresh[c.ID] = s.refreshed(team, c)
	}
	var synced Synced
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		synced = Synced{}
		if s.sqlite == "" {
			// One at a time. The rows that are there are locked in order; but two that meet
			// new channels side by side may each hold what the other wants next.
			if err := tx.Exec("SELECT pg_advisory_xact_lock(hashtext(?))", "myao channels "+team).Error; err != nil {
				return err
			}
		}
		var rows []channelRow
		if err := s.locked(tx).Where("team_id = ?", team).Order("channel_id").Find(&rows).Error; err != nil {
			return err
		}
		known := make(map[string]channelRow, len(rows))
		var left []string
		for _, old := range rows {
			known[old.ChannelID] = old
			if _, there := fresh[old.ChannelID]; old.Member && !there {
				left = append(left, old.ChannelID)
			}
		}
		synced.Left = len(left)
		var met, others []channelRow
		for _, id := range slices.Sorted(maps.Keys(fresh)) { // one order for all who write
			row, old := fresh[id], known[id]
			switch {
			case old.RefreshedUS == 0:
				synced.Joined++
				met = append(met, row)
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
		// First those that are new: of the others, some may be known since now.
		if err := meet(tx, met); err != nil {
			return err
		}
		if err := describe(tx, others); err != nil || len(left) == 0 {
			return err
		}
		return tx.Model(&channelRow{}).Where("team_id = ? AND channel_id IN ?", team, left).Update("member", false).Error
	})
	if err != nil {
		return Synced{}, fmt.Errorf("take in %d channels: %w", len(listed), err)
	}
	return synced, nil
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
		Where("c.team_id = ? AND NOT c.member AND c.refreshed_us < ? AND ?", team, stamp(before), seenFrom("")).
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

// Stored is those of a channel's messages that are known, by ts, deleted ones among
// them, and whether an event of theirs has been recorded. Nothing else of Known is told.
func (s *Store) Stored(ctx context.Context, team, channel string, ts []string) (map[string]Known, error) {
	stored := make(map[string]Known, len(ts))
	if len(ts) == 0 {
		return stored, nil
	}
	var rows []messageRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND channel_id = ? AND ts IN ?", team, channel, ts).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read %d messages of %s: %w", len(ts), channel, err)
	}
	for _, r := range rows {
		m := r.message()
		stored[r.TS] = Known{Message: &m, Handled: r.Handled}
	}
	return stored, nil
}
