package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/telemetry"
)

// Known is what the store holds about a message when news of it comes.
type Known struct {
	// Message is the message as it stands; nil if it was never seen.
	Message *chat.Message
	// Handled is set once an event of the message itself has been recorded.
	Handled bool
	// Addressed is set if it was relayed as addressing the bot.
	Addressed bool
	// Hushed is who said that it wants no answer, before an event of the message itself
	// was recorded; empty: nobody did.
	Hushed string
	// Before are the newest messages of its thread that are older than it, in
	// order of time; empty at the top level.
	Before []chat.Message
}

// Entry is what the store shall hold of a message, and what is to be relayed.
type Entry struct {
	// Message is the new state; nil leaves it as it is.
	Message *chat.Message
	Handled bool
	Changes []Change
	// Order is written down with it; nil: nobody ordered anything.
	Order *Order
	// Private is set where Slack says that not everybody may read the channel. That
	// closes it; nothing that is recorded opens one.
	Private bool
}

// Change is one change on its way to the workflow of a conversation.
type Change struct {
	conversation.Change
	Conversation chat.Conversation
	// Trace is the traceparent (W3C) of the request that brought it, or empty.
	Trace string
}

// before bounds how far a thread is read back for Known.Before.
const before = 20

// Record commits news of one message: decide is told what is known of it and
// says what to keep and what to relay. A change that was recorded before is not
// recorded again. The conversations that have something new to be relayed come back.
//
// decide may be called more than once and must depend on its argument alone.
func (s *Store) Record(ctx context.Context, m chat.Message, decide func(Known) Entry) ([]chat.Conversation, error) {
	for range 3 {
		targets, err := s.record(ctx, m, decide)
		if errors.Is(err, errOvertaken) {
			continue // another event of the same message was first: decide again
		}
		if err != nil {
			return nil, fmt.Errorf("record message %s in %s: %w", m.TS, m.Channel, err)
		}
		return targets, nil
	}
	return nil, fmt.Errorf("record message %s in %s: %w", m.TS, m.Channel, errOvertaken)
}

var errOvertaken = errors.New("overtaken by another event of the same message")

func (s *Store) record(ctx context.Context, m chat.Message, decide func(Known) Entry) ([]chat.Conversation, error) {
	var targets []chat.Conversation
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		targets = nil
		var known Known
		var rows []messageRow
		if err := s.locked(tx).Where("team_id = ? AND channel_id = ? AND ts = ?", m.Team, m.Channel, m.TS).
			Find(&rows).Error; err != nil {
			return err
		}
		if len(rows) > 0 {
			stands := rows[0].message()
			known.Message, known.Handled = &stands, rows[0].Handled
			var err error
			if known.Addressed, err = s.addressed(tx, stands); err != nil {
				return err
			}
		}
		if m.ThreadTS != "" {
			var err error
			if known.Before, err = s.tail(tx, m); err != nil {
				return err
			}
		}
		entry := decide(known)
		var written *messageRow
		if entry.Message != nil {
			row, err := newMessageRow(*entry.Message, entry.Handled, s.nowMicros())
			if err != nil {
				return err
			}
			if known.Message == nil {
				created := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
				if created.Error != nil {
					return created.Error
				}
				if created.RowsAffected == 0 {
					return errOvertaken
				}
			} else {
				if row.says(rows[0]) {
					row.StoredUS = rows[0].StoredUS
				}
				if err := tx.Save(&row).Error; err != nil {
					return err
				}
			}
			written = &row
		}
		if err := s.hush(tx, m, &known); err != nil {
			return err
		}
		if known.Hushed != "" {
			entry = decide(known)
		}
		if err := s.order(tx, m, known.Message != nil || written != nil, entry.Order); err != nil {
			return err
		}
		var err error
		if targets, err = s.addChanges(tx, entry.Changes); err != nil {
			return err
		}
		if written != nil {
			if err := active(tx, *written); err != nil {
				return err
			}
		}
		if !entry.Private {
			return nil
		}
		return s.shut(tx, m.Team, m.Channel)
	})
	return targets, err
}

// tail is the newest messages of m's thread before m, the parent included, in order of time.
func (s *Store) tail(tx *gorm.DB, m chat.Message) ([]chat.Message, error) {
	c := chat.Conversation{Team: m.Team, Channel: m.Channel, Thread: m.ThreadTS}
	rows, err := latest(tx, c, micros(m.Time()), before)
	slices.Reverse(rows)
	return messages(rows), err
}

func (s *Store) addChanges(tx *gorm.DB, changes []Change) ([]chat.Conversation, error) {
	var targets []chat.Conversation
	for _, c := range changes {
		row := changeRow{
			WorkflowID: c.Conversation.ID(), TS: c.TS, SentUS: micros(chat.Time(c.TS)), Kind: string(c.Kind),
			Revision: c.Revision, FollowUp: c.FollowUp, StoredUS: s.nowMicros(), OrderedBy: c.By,
			Trace: cmp.Or(c.Trace, telemetry.Traceparent(tx.Statement.Context)),
		}
		created := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
		if created.Error != nil {
			return nil, fmt.Errorf("add change: %w", created.Error)
		}
		if created.RowsAffected == 0 {
			continue
		}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).
			Create(&conversationRow{WorkflowID: row.WorkflowID}).Error; err != nil {
			return nil, fmt.Errorf("add conversation: %w", err)
		}
		targets = append(targets, c.Conversation)
	}
	return targets, nil
}

// addressed reports whether a message was relayed as addressing the bot: to its
// own conversation, or to the thread in which it is answered.
func (s *Store) addressed(tx *gorm.DB, m chat.Message) (bool, error) {
	here := chat.Conversation{Team: m.Team, Channel: m.Channel, Thread: m.ThreadTS}
	thread := chat.Conversation{Team: m.Team, Channel: m.Channel, Thread: m.TS}
	var n int64
	err := tx.Model(&changeRow{}).Where("workflow_id IN ? AND ts = ? AND kind = ?",
		[]string{here.ID(), thread.ID()}, m.TS, string(conversation.Addressed)).Count(&n).Error
	return n > 0, err
}
