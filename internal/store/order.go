package store

import (
	"context"
	"fmt"
	"time"

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

// PutOrder writes an order down; one that is there already stays as it is.
func (s *Store) PutOrder(ctx context.Context, o Order) error {
	row := orderRow{
		ID: o.ID, TeamID: o.Scope.Team, ChannelID: o.Scope.Channel, ThreadTS: o.Scope.Thread, Kind: o.Kind, OrderedBy: o.By,
		Subject: o.Subject, UntilUS: stamp(o.Until), OrderedUS: stamp(o.At),
	}
	if row.OrderedUS == 0 {
		row.OrderedUS = s.nowMicros()
	}
	if err := s.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
		return fmt.Errorf("write order %s down: %w", o.ID, err)
	}
	return nil
}
