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

// hush finds out whether a message whose first event is being recorded was hushed before:
// events come in any order. It is asked when the message's row is ours, since whoever
// hushes an unknown message holds the place of that row until the order is committed.
func (s *Store) hush(tx *gorm.DB, m chat.Message, known *Known) error {
	if known.Handled {
		return nil
	}
	m.Revision = "" // whoever hushed it then knew of none
	return tx.Model(&orderRow{}).Where("id = ?", Hush(m, "").ID).Pluck("ordered_by", &known.Hushed).Error
}

// order writes an order down with the news of a message. That of an unknown message takes
// the message's row for as long as the transaction lasts: an event that brings the
// message at the same time is either seen here, or sees the order.
func (s *Store) order(tx *gorm.DB, m chat.Message, there bool, o *Order) error {
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
			return errOvertaken
		}
		if err := tx.Delete(&row).Error; err != nil {
			return err
		}
	}
	return s.putOrder(tx, *o)
}
