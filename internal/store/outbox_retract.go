package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// ReplyOf is the reply that a message in Slack belongs to; empty if the outbox does not know it.
func (s *Store) ReplyOf(ctx context.Context, team, channel, ts string) (reply string, err error) {
	if err := s.db.WithContext(ctx).Model(&outboxRow{}).
		Where("team_id = ? AND channel_id = ? AND sent_ts <> '' AND sent_ts = ?", team, channel, ts).
		Limit(1).Select("reply").Scan(&reply).Error; err != nil {
		return "", fmt.Errorf("look for the reply of message %s: %w", ts, err)
	}
	return reply, nil
}

// maxReplyAge is how long after its trigger a reply may be posted: composing it is tried for a day,
// and posting it for half a day.
const maxReplyAge = 48 * time.Hour

// Unconfirmed is the parts in a channel that may be in Slack under a ts, without the outbox knowing.
func (s *Store) Unconfirmed(ctx context.Context, team, channel, ts string) ([]Part, error) {
	var rows []outboxRow
	if err := s.db.WithContext(ctx).
		Where("team_id = ? AND channel_id = ? AND trigger_ts >= ? AND trigger_ts <= ? AND state IN ? AND sent_ts = "+
			"'' AND attempts > 0 AND reaction = ''",
			team, channel, chat.TS(chat.Time(ts).Add(-maxReplyAge)), ts, []Delivery{Sending, Retracted}).
		Order("key").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read unconfirmed parts in %s: %w", channel, err)
	}
	return mapRows(rows, outboxRow.part), nil
}

// Retract records the order to retract a reply, and sees to it that none of its parts is posted any
// more: those that are not known to be in Slack become Retracted, without their texts. An attempt
// that has begun may still end as Sent, until its lease is over. An empty reply only records the
// order. A repeated order id records nothing more.
func (s *Store) Retract(ctx context.Context, reply string, o Order) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		if _, err := s.insertOrder(tx, o); err != nil || reply == "" {
			return err
		}
		return tx.Model(&outboxRow{}).Where("reply = ? AND state <> ?", reply, Sent).
			Updates(map[string]any{"state": Retracted, "text": ""}).Error
	})
	if err != nil {
		return fmt.Errorf("retract reply %s: %w", reply, err)
	}
	return nil
}

// MarkRetracted records that a message of the bot is no longer in Slack: as a deleted message and,
// if key names a part, in the outbox. Slack's own event of the deletion then changes nothing more.
func (s *Store) MarkRetracted(ctx context.Context, key string, m chat.Message) error {
	m.Own, m.Deleted, m.Text, m.Files, m.Revision = true, true, "", nil, ""
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := newMessageRow(m, true, s.nowMicros())
		if err != nil {
			return err
		}
		// The message comes first, as where Slack's event of the deletion is recorded: otherwise the two
		// could deadlock.
		if err := tx.Clauses(clause.OnConflict{
			Columns: []clause.Column{{Name: "team_id"}, {Name: "channel_id"}, {Name: "ts"}},
			DoUpdates: clause.AssignmentColumns([]string{"deleted", "text", "files", "revision", "handled",
				"stored_us"}),
		}).Create(&row).Error; err != nil {
			return err
		}
		if err := errors.Join(unindex(tx, m.Team, m.Channel, m.TS),
			s.dropWith(tx, m.Team, m.Channel, m.TS)); err != nil || key == "" {
			return err
		}
		return tx.Model(&outboxRow{}).Where("key = ?", key).
			Updates(map[string]any{"state": Retracted, "sent_ts": m.TS, "leased_until_us": 0, "text": "", "error": ""}).
			Error
	})
	if err != nil {
		return fmt.Errorf("record that %s was retracted: %w", m.TS, err)
	}
	return nil
}

// MarkUnreacted records that a part that is a reaction of a user is no longer in Slack.
func (s *Store) MarkUnreacted(ctx context.Context, p Part, user string) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Model(&outboxRow{}).Where("key = ?", p.Key).
			Updates(map[string]any{"state": Retracted, "leased_until_us": 0, "text": "", "error": ""}).
			Error; err != nil {
			return err
		}
		return putReaction(tx, Reaction{Team: p.Team, Channel: p.Channel, TS: p.Trigger, User: user, Name: p.Reaction,
			Removed: true, At: s.now()})
	})
	if err != nil {
		return fmt.Errorf("record that the reaction %s was retracted: %w", p.Key, err)
	}
	return nil
}

// SettleRetracted records that the reply of a decision was retracted, whatever its outcome was.
func (s *Store) SettleRetracted(ctx context.Context, decision, by string) error {
	if err := s.db.WithContext(ctx).Model(&Decision{}).Where("key = ?", decision).
		Updates(map[string]any{"outcome": conversation.Retracted, "outcome_by": by, "settled_us": s.nowMicros()}).
		Error; err != nil {
		return fmt.Errorf("settle decision %s as retracted: %w", decision, err)
	}
	return nil
}
