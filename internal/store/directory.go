package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm/clause"
)

type userRow struct {
	TeamID      string `gorm:"primaryKey"`
	UserID      string `gorm:"primaryKey"`
	Name        string
	IsBot       bool
	RefreshedUS int64 `gorm:"column:refreshed_us"`
}

func (userRow) TableName() string { return "users" }

// User is a person or an app as Slack named it when it was last asked.
type User struct {
	ID        string
	Name      string
	Bot       bool
	Refreshed time.Time
}

// Users is those of the ids that are known.
func (s *Store) Users(ctx context.Context, team string, ids []string) (map[string]User, error) {
	users := make(map[string]User, len(ids))
	if len(ids) == 0 {
		return users, nil
	}
	var rows []userRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND user_id IN ?", team, ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	for _, r := range rows {
		users[r.UserID] = User{ID: r.UserID, Name: r.Name, Bot: r.IsBot, Refreshed: instant(r.RefreshedUS)}
	}
	return users, nil
}

// SaveUser writes down what Slack says of a user.
func (s *Store) SaveUser(ctx context.Context, team string, u User) error {
	row := userRow{TeamID: team, UserID: u.ID, Name: u.Name, IsBot: u.Bot, RefreshedUS: micros(u.Refreshed)}
	if err := s.db.WithContext(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
		return fmt.Errorf("save user %s: %w", u.ID, err)
	}
	return nil
}
