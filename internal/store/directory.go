package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm/clause"
)

type userRow struct {
	TeamID      string `gorm:"primaryKey"`
	UserID      string `gorm:"primaryKey" json:"user_id"`
	Name        string `json:"name"`
	IsBot       bool   `json:"is_bot"`
	RefreshedUS int64  `gorm:"column:refreshed_us" json:"refreshed_us"`
}

func (userRow) TableName() string { return "users" }

// User is a person or an app, as Slack described it when last asked.
type User struct {
	ID        string
	Name      string
	Bot       bool
	Refreshed time.Time
}

// Users is the known users among the ids.
func (s *Store) Users(ctx context.Context, team string, ids []string) (map[string]User, error) {
	if len(ids) == 0 {
		return map[string]User{}, nil
	}
	var rows []userRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND user_id IN ?", team, ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	return usersOf(rows), nil
}

func usersOf(rows []userRow) map[string]User {
	users := make(map[string]User, len(rows))
	for _, r := range rows {
		users[r.UserID] = User{ID: r.UserID, Name: r.Name, Bot: r.IsBot, Refreshed: instant(r.RefreshedUS)}
	}
	return users
}

// Names is what users and channels are called.
type Names struct {
	// Users are the known users.
	Users map[string]User
	// Channels is the names of the channels that the reader may know.
	Channels map[string]string
	// Refreshed is when Slack was last asked about each channel; missing for those never asked
	// about.
	Refreshed map[string]time.Time
	// Private are the channels known to be private. About some of them only events have said so.
	Private map[string]bool
}

// Names is the names of users and channels, as far as a reader in the channel here may know them.
// With here empty the reader is anybody.
func (s *Store) Names(ctx context.Context, team, here string, users, channels []string) (Names, error) {
	var people []userRow
	var places []struct {
		ChannelID   string `json:"channel_id"`
		Name        string `json:"name"`
		Private     bool   `json:"private"`
		RefreshedUS int64  `gorm:"column:refreshed_us" json:"refreshed_us"`
	}
	if err := runBatch(s.db.WithContext(ctx),
		query{"SELECT user_id, name, is_bot, refreshed_us FROM users WHERE team_id = ? AND ?", []any{team, s.inList("user_id", users)}, &people},
		query{"SELECT c.channel_id, CASE WHEN ? THEN c.name ELSE '' END AS name, c.private, c.refreshed_us FROM channels c WHERE c.team_id = ? AND ?",
			[]any{seenFrom(team, here), team, s.inList("c.channel_id", channels)}, &places},
	); err != nil {
		return Names{}, fmt.Errorf("read names: %w", err)
	}
	n := Names{
		Users: usersOf(people), Channels: make(map[string]string, len(places)),
		Refreshed: make(map[string]time.Time, len(places)), Private: make(map[string]bool, len(places)),
	}
	for _, p := range places {
		if p.Name != "" {
			n.Channels[p.ChannelID] = p.Name
		}
		if p.RefreshedUS != 0 {
			n.Refreshed[p.ChannelID] = instant(p.RefreshedUS)
		}
		if p.Private {
			n.Private[p.ChannelID] = true
		}
	}
	return n, nil
}

// inList is the condition that a column has one of some values. Postgres gets them as one argument,
// since a statement per count would be a statement to prepare. UNNEST makes Postgres join them; it
// would search an array of unknown length for every row.
func (s *Store) inList(column string, values []string) clause.Expr {
	if s.sqlite != "" {
		return clause.Expr{SQL: column + " IN ?", Vars: []any{values}}
	}
	return clause.Expr{SQL: column + " IN (SELECT UNNEST(CAST(? AS TEXT[])))", Vars: []any{&values}} // a pointer, because gorm would expand a slice
}

// SaveUser writes what Slack says about a user.
func (s *Store) SaveUser(ctx context.Context, team string, u User) error {
	row := userRow{TeamID: team, UserID: u.ID, Name: u.Name, IsBot: u.Bot, RefreshedUS: micros(u.Refreshed)}
	if err := s.db.WithContext(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
		return fmt.Errorf("save user %s: %w", u.ID, err)
	}
	return nil
}
