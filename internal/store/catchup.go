package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// Memberships is the channels that the bot is in, without archived ones, the most recently active
// first (to the precision of ChannelKnowledge.Active).
func (s *Store) Memberships(ctx context.Context, team string) ([]Channel, error) {
	var rows []channelRow
	if err := s.db.WithContext(ctx).Table("channels c").Where("c.team_id = ? AND "+joined, team).
		Order("c.active_us DESC, c.channel_id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read memberships: %w", err)
	}
	return mapRows(rows, channelRow.channel), nil
}

// UnjoinedChannels is the public channels that the bot is not in and about which Slack was last
// asked before a time, longest ago first, at most limit. No event and no listing reports when such
// a channel becomes private.
func (s *Store) UnjoinedChannels(
	ctx context.Context, team string, before time.Time, limit int,
) (ids []string, err error) {
	if err := s.db.WithContext(ctx).Table("channels c").
		Where("c.team_id = ? AND NOT c.member AND c.refreshed_us < ? AND ?", team, microsOrZero(before),
			seenFrom(team, "")).
		Order("c.refreshed_us, c.channel_id").Limit(limit).Pluck("c.channel_id", &ids).Error; err != nil {
		return nil, fmt.Errorf("read public channels that the bot is not in: %w", err)
	}
	return ids, nil
}

// AdvanceCatchUp moves a channel's catch-up marks forward. An empty ts leaves its mark, and no mark
// moves back. threadsRead is when the threads were read; the zero time leaves that mark. An unknown
// channel is ErrNotFound.
func (s *Store) AdvanceCatchUp(ctx context.Context, team, channel, to, threadsTo string, threadsRead time.Time) error {
	later := func(column string, value any) any {
		return gorm.Expr("CASE WHEN "+column+" < ? THEN ? ELSE "+column+" END", value, value)
	}
	moved := s.db.WithContext(ctx).Model(&channelRow{}).Where("team_id = ? AND channel_id = ?", team, channel).
		Updates(map[string]any{
			"caught_up_to":         later("caught_up_to", to),
			"threads_caught_up_to": later("threads_caught_up_to", threadsTo),
			"threads_read_us":      later("threads_read_us", microsOrZero(threadsRead)),
		})
	if moved.Error != nil {
		return fmt.Errorf("move catch-up marks of %s: %w", channel, moved.Error)
	}
	if moved.RowsAffected == 0 {
		return fmt.Errorf("move catch-up marks of %s: %w", channel, ErrNotFound)
	}
	return nil
}

// Unhandled is a channel's messages that were read from Slack's history while their own event has
// not arrived. It returns those sent at or after a time and after the ts after (empty: from the
// first), the oldest first, at most limit, without deleted ones.
func (s *Store) Unhandled(ctx context.Context, team, channel string, since time.Time, after string,
	limit int) ([]chat.Message, error) {
	var rows []messageRow
	if err := s.db.WithContext(ctx).
		Where("team_id = ? AND channel_id = ? AND sent_us >= ? AND NOT handled AND NOT deleted",
			team, channel, max(microsOrZero(since), microsOrZero(chat.Time(after))+1)).
		Order("sent_us").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read unhandled messages of %s: %w", channel, err)
	}
	return messages(rows), nil
}

// ActiveThreads is the parents' ts of a channel's threads that have a reply sent since a time, the
// most recently active first.
func (s *Store) ActiveThreads(ctx context.Context, team, channel string, since time.Time) ([]string, error) {
	var threads []string
	if err := s.db.WithContext(ctx).Model(&messageRow{}).
		Where("team_id = ? AND channel_id = ? AND sent_us >= ? AND thread_ts <> '' AND NOT deleted", team, channel,
			microsOrZero(since)).
		Group("thread_ts").Order("MAX(sent_us) DESC").Pluck("thread_ts", &threads).Error; err != nil {
		return nil, fmt.Errorf("read active threads of %s: %w", channel, err)
	}
	return threads, nil
}
