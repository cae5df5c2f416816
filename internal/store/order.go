package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// Order is something that somebody has told the bot to do.
type Order struct {
	// ID is the same however often the order is carried out.
	ID string
	// Scope is where: a channel, a thread, or for memories the workspace.
	Scope chat.Scope
	// Kind is answer-now, drop, snooze, mute, unmute, hush, forget or rollback.
	Kind string
	// By is who: cli:NAME or slack:U….
	By string
	// Subject is the ts of a message, or the term and version of a memory.
	Subject string
	// Until is the end of a snooze or mute, else zero.
	Until time.Time
	// At is when; zero: now.
	At time.Time
}

type orderRow struct {
	ID        string `gorm:"primaryKey"`
	TeamID    string
	ChannelID string
	ThreadTS  string `gorm:"column:thread_ts"`
	Kind      string
	OrderedBy string
	Subject   string
	UntilUS   int64 `gorm:"column:until_us"`
	OrderedUS int64 `gorm:"column:ordered_us"`
}

func (orderRow) TableName() string { return "orders" }

func (s *Store) orderRow(o Order) orderRow {
	row := orderRow{
		ID: o.ID, TeamID: o.Scope.Team, ChannelID: o.Scope.Channel, ThreadTS: o.Scope.Thread, Kind: o.Kind, OrderedBy: o.By,
		Subject: o.Subject, UntilUS: stamp(o.Until), OrderedUS: stamp(o.At),
	}
	if row.OrderedUS == 0 {
		row.OrderedUS = s.nowMicros()
	}
	return row
}

func (r orderRow) scope() chat.Scope {
	return chat.Scope{Team: r.TeamID, Channel: r.ChannelID, Thread: r.ThreadTS}
}

// PutOrder writes an order down; one that is there already stays as it is.
func (s *Store) PutOrder(ctx context.Context, o Order) error {
	return s.putOrder(s.db.WithContext(ctx), o)
}

func (s *Store) putOrder(tx *gorm.DB, o Order) error {
	row := s.orderRow(o)
	if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
		return fmt.Errorf("write order %s down: %w", o.ID, err)
	}
	return nil
}

// ErrOtherOrder is returned for an order whose id another one has.
var ErrOtherOrder = errors.New("another order has this id")

// Obey writes an order down and, when it is to snooze, mute or unmute, until when its
// conversation is silent, in one transaction. What is there already has been carried out:
// a mute that comes late, and again, does not undo an unmute. It returns ErrOtherOrder
// where the id is that of an order about something else.
func (s *Store) Obey(ctx context.Context, o Order) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		row := s.orderRow(o)
		created := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
		if created.Error != nil {
			return created.Error
		}
		if created.RowsAffected == 0 {
			var there orderRow
			if err := tx.Where("id = ?", o.ID).Take(&there).Error; err != nil {
				return err
			}
			if there.scope() != o.Scope || there.Kind != o.Kind {
				return ErrOtherOrder
			}
			return nil
		}
		if !slices.Contains([]string{"snooze", "mute", "unmute"}, o.Kind) {
			return nil
		}
		c := chat.Conversation{Team: o.Scope.Team, Channel: o.Scope.Channel, Thread: o.Scope.Thread}
		return tx.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "workflow_id"}},
			DoUpdates: clause.Assignments(map[string]any{"silenced_us": row.UntilUS}),
		}).Create(&conversationRow{WorkflowID: c.ID(), SilencedUS: row.UntilUS}).Error
	})
	if err != nil {
		return fmt.Errorf("carry out order %s: %w", o.ID, err)
	}
	return nil
}

// Silenced is until when conversations are muted, of those that are, or were.
func (s *Store) Silenced(ctx context.Context, workflowIDs []string) (map[string]time.Time, error) {
	until := map[string]time.Time{}
	if len(workflowIDs) == 0 {
		return until, nil
	}
	var rows []conversationRow
	if err := s.db.WithContext(ctx).Where("workflow_id IN ? AND silenced_us > 0", workflowIDs).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read which conversations are silent: %w", err)
	}
	for _, r := range rows {
		until[r.WorkflowID] = instant(r.SilencedUS)
	}
	return until, nil
}
