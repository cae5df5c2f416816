package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// Hush is a person's order not to answer a message. There is one per revision of the message: what
// was hushed stays so, unless an edit asks again.
func Hush(m chat.Message, by string) *Order {
	id := "hush/" + m.Team + "/" + m.Channel + "/" + m.TS
	if m.Revision != "" {
		id += "/" + m.Revision
	}
	return &Order{
		ID: id, Scope: chat.Scope{Team: m.Team, Channel: m.Channel, Thread: m.ThreadTS},
		Kind: "hush", By: by, Subject: m.TS,
	}
}

// BeingAnswered is the messages that addressed the bot at a channel's top level, were sent at most
// within before m, and still lack a decision. author is their author's user id; empty for anybody.
func (s *Store) BeingAnswered(
	ctx context.Context, m chat.Message, author string, within time.Duration,
) ([]chat.Message, error) {
	var rows []messageRow
	if err := s.db.WithContext(ctx).Raw(`
		SELECT m.* FROM messages m WHERE m.team_id = ? AND m.channel_id = ? AND m.thread_ts = '' AND NOT m.deleted
			AND m.sent_us >= ? AND m.sent_us < ? AND (m.user_id = ? OR ? = '')
			AND EXISTS (SELECT 1 FROM changes c WHERE c.workflow_id = ? || m.ts AND c.ts = m.ts AND c.kind = 'addressed')
			AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.workflow_id = ? || m.ts AND d.trigger_ts = m.ts)
		ORDER BY m.sent_us`,
		m.Team, m.Channel, micros(m.Time().Add(-within)), micros(m.Time()), author, author, threadPrefix(m),
		threadPrefix(m)).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("read what is being answered in %s: %w", m.Channel, err)
	}
	return messages(rows), nil
}

// threadPrefix begins the workflow ids of the threads of a message's channel.
func threadPrefix(m chat.Message) string { return "thread/" + m.Team + "/" + m.Channel + "/" }

// recordOrder writes an order together with an event of a message. If the message is unknown, the
// transaction occupies the message's row until it ends. So an event that brings the message at the
// same time is either seen here, or sees the order.
func (s *Store) recordOrder(tx *gorm.DB, m chat.Message, there bool, o *Order) error {
	if o == nil {
		return nil
	}
	if !there {
		row, err := newMessageRow(chat.Message{Team: m.Team, Channel: m.Channel, TS: m.TS}, false, s.nowMicros())
		if err != nil {
			return err
		}
		taken := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
		if taken.Error != nil {
			return taken.Error
		}
		if taken.RowsAffected == 0 {
			return errConflict
		}
		if err := tx.Delete(&row).Error; err != nil {
			return err
		}
	}
	_, err := s.insertOrder(tx, *o)
	return err
}
