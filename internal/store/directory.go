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

type channelRow struct {
	TeamID      string `gorm:"primaryKey"`
	ChannelID   string `gorm:"primaryKey"`
	Name        string
	Private     bool
	RefreshedUS int64 `gorm:"column:refreshed_us"`
	NextPostUS  int64 `gorm:"column:next_post_us"`
}

func (channelRow) TableName() string { return "channels" }

// User is a person or an app as Slack named it when it was last asked.
type User struct {
	ID        string
	Name      string
	Bot       bool
	Refreshed time.Time
}

// Channel is a channel as Slack named it when it was last asked; a direct
// message has no name.
type Channel struct {
	ID      string
	Name    string
	Private bool
	// Refreshed is the zero time for a channel that Slack was never asked about.
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

// Channels is those of the ids that are known.
func (s *Store) Channels(ctx context.Context, team string, ids []string) (map[string]Channel, error) {
	channels := make(map[string]Channel, len(ids))
	if len(ids) == 0 {
		return channels, nil
	}
	var rows []channelRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND channel_id IN ?", team, ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read channels: %w", err)
	}
	for _, r := range rows {
		c := Channel{ID: r.ChannelID, Name: r.Name, Private: r.Private}
		if r.RefreshedUS != 0 {
			c.Refreshed = instant(r.RefreshedUS)
		}
		channels[r.ChannelID] = c
	}
	return channels, nil
}

// SaveChannel writes down what Slack says of a channel.
func (s *Store) SaveChannel(ctx context.Context, team string, c Channel) error {
	row := channelRow{TeamID: team, ChannelID: c.ID, Name: c.Name, Private: c.Private, RefreshedUS: micros(c.Refreshed)}
	if err := s.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "team_id"}, {Name: "channel_id"}},
		DoUpdates: clause.AssignmentColumns([]string{"name", "private", "refreshed_us"}),
	}).Create(&row).Error; err != nil {
		return fmt.Errorf("save channel %s: %w", c.ID, err)
	}
	return nil
}
