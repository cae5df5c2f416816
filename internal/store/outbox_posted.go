package store

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// MarkPosted records in one transaction that a part is in Slack: in the outbox and as a message, so
// that the bot knows at once what it said. A reaction is recorded as one of the author of m.
func (s *Store) MarkPosted(ctx context.Context, p Part, m chat.Message) error {
	return s.posted(ctx, p, m, func(*gorm.DB) error { return nil })
}

// clearDeletedReply clears the outbox's text of a bot message that was deleted in Slack: whoever
// deleted it may want nobody to read it any more.
func clearDeletedReply(tx *gorm.DB, r messageRow) error {
	if !r.Own || !r.Deleted {
		return nil
	}
	return tx.Model(&outboxRow{}).Where("team_id = ? AND channel_id = ? AND sent_ts <> '' AND sent_ts = ?", r.TeamID,
		r.ChannelID, r.TS).Update("text", "").Error
}

// MarkReplied is MarkPosted for the last part of a reply. The same transaction settles the reply's
// decision as posted. It returns that decision, or nil if it was posted before.
func (s *Store) MarkReplied(ctx context.Context, p Part, m chat.Message) (settled *Decision, err error) {
	err = s.posted(ctx, p, m, func(tx *gorm.DB) (err error) {
		settled, err = s.settle(tx, p.Decision, conversation.OutcomePosted, p.Reply)
		return err
	})
	if err != nil {
		return nil, err
	}
	return settled, nil
}

func (s *Store) posted(ctx context.Context, p Part, m chat.Message, settle func(tx *gorm.DB) error) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Model(&outboxRow{}).Where("key = ?", p.Key).
			Updates(map[string]any{"state": Sent, "leased_until_us": 0, "sent_ts": m.TS, "error": ""}).
			Error; err != nil {
			return err
		}
		if p.Reaction != "" {
			if err := putReaction(tx, Reaction{Team: p.Team, Channel: p.Channel, TS: p.Trigger, User: m.UserID,
				Name: p.Reaction, At: s.now()}); err != nil {
				return err
			}
			return settle(tx)
		}
		row, err := newMessageRow(m, true, s.nowMicros())
		if err != nil {
			return err
		}
		// Slack's own event of the message may have arrived first.
		created := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
		if created.Error != nil {
			return created.Error
		}
		if created.RowsAffected > 0 {
			if err := saveActivity(tx, row); err != nil {
				return err
			}
		}
		return settle(tx)
	})
	if err != nil {
		return fmt.Errorf("record that %s was posted as %s: %w", p.Key, m.TS, err)
	}
	return nil
}
