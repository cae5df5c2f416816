package store

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Introduce writes the message by which the bot introduces itself in a channel to the outbox, and marks
// the channel, so that this happens once. due is set while that message has still to be posted, whoever
// wrote it.
func (s *Store) Introduce(ctx context.Context, p Part) (due bool, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		marked := tx.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "team_id"}, {Name: "channel_id"}},
			DoUpdates: clause.AssignmentColumns([]string{"introduced_us"}),
			Where:     clause.Where{Exprs: []clause.Expression{gorm.Expr("channels.introduced_us = 0")}},
		}).Create(&channelRow{TeamID: p.Team, ChannelID: p.Channel, IntroducedUS: s.nowMicros()})
		if marked.Error != nil {
			return marked.Error
		}
		if marked.RowsAffected > 0 {
			due = true
			return tx.Create(s.apart(p)).Error
		}
		var open int64
		err := tx.Model(&outboxRow{}).Where("key = ? AND state IN ?", p.Key, []Delivery{Composed, Sending}).
			Count(&open).Error
		due = open > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("write the introduction in %s: %w", p.Channel, err)
	}
	return due, nil
}

// apart is the row of a message that answers none in its channel.
func (s *Store) apart(p Part) *outboxRow {
	return &outboxRow{
		Key: p.Key, Reply: p.Reply, Part: p.Number, TeamID: p.Team, ChannelID: p.Channel, TriggerTS: p.Trigger,
		Text: p.Text, State: Composed, ReadUS: s.nowMicros(),
	}
}

// WriteApart writes a message that answers none in its channel to the outbox, unless it is there already.
func (s *Store) WriteApart(ctx context.Context, p Part) error {
	err := s.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(s.apart(p)).Error
	if err != nil {
		return fmt.Errorf("write %s to outbox: %w", p.Key, err)
	}
	return nil
}
