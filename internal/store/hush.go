package store

import (
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
