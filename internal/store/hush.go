package store

import (
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// Hush is the order of somebody who wants no answer to a message. There is one for each
// revision of it: what has been hushed once stays so, unless an edit asks again.
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

// recordOrder writes an order down with the news of a message. That of an unknown message takes
// the message's row for as long as the transaction lasts: an event that brings the
// message at the same time is either seen here, or sees the order.
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
