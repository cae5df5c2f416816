package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Turn returns how long a part has to wait until it may be posted: the turns in a
// channel lie a pace apart, whoever posts there. A part keeps its turn until an
// attempt has begun with it (BeginSend), so that who comes too early may go away and
// come back; one that comes a whole pace too late has missed it, and gets a new one
// behind all others. With a part, the parts of its reply that follow it get the
// turns after its own, so that a long reply is not torn apart.
//
// A part that is not in the outbox any more gets a turn as well; BeginSend does not
// take it.
func (s *Store) Turn(ctx context.Context, p Part, pace time.Duration) (time.Duration, error) {
	var wait time.Duration
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		now := s.now()
		// The reply is locked before its channel, as in Posted.
		var rows []outboxRow
		if err := s.locked(tx).Where("reply = ? AND part >= ?", p.Reply, p.Number).Order("part").Find(&rows).Error; err != nil {
			return err
		}
		if len(rows) > 0 && rows[0].TurnUS+pace.Microseconds() > micros(now) {
			wait = instant(rows[0].TurnUS).Sub(now)
			return nil
		}
		at, err := s.reserve(tx, p, max(len(rows), 1), pace, now)
		if err != nil {
			return err
		}
		wait = instant(at).Sub(now)
		return tx.Model(&outboxRow{}).Where("reply = ? AND part >= ?", p.Reply, p.Number).
			Update("turn_us", gorm.Expr("CAST(? AS BIGINT) + (part - ?) * CAST(? AS BIGINT)", at, p.Number, pace.Microseconds())).Error
	})
	if err != nil {
		return 0, fmt.Errorf("take the turn of %s: %w", p.Key, err)
	}
	return max(wait, 0), nil
}

// reserve returns the first of n turns behind the last one of the part's channel.
func (s *Store) reserve(tx *gorm.DB, p Part, n int, pace time.Duration, now time.Time) (at int64, err error) {
	if err := tx.Clauses(clause.OnConflict{DoNothing: true}).
		Create(&channelRow{TeamID: p.Team, ChannelID: p.Channel}).Error; err != nil {
		return 0, err
	}
	var row channelRow
	if err := s.locked(tx).Where("team_id = ? AND channel_id = ?", p.Team, p.Channel).Take(&row).Error; err != nil {
		return 0, err
	}
	at = max(row.NextPostUS, micros(now))
	return at, tx.Model(&channelRow{}).Where("team_id = ? AND channel_id = ?", p.Team, p.Channel).
		Update("next_post_us", at+int64(n)*pace.Microseconds()).Error
}
