package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

type userRow struct {
	TeamID      string `gorm:"primaryKey"`
	UserID      string `gorm:"primaryKey" json:"user_id"`
	Name        string `json:"name"`
	IsBot       bool   `json:"is_bot"`
	RefreshedUS int64  `json:"refreshed_us"`
	GuestUS     int64  `json:"guest_us"`
	Stranger    bool   `json:"stranger"`
	TimeZone    string `json:"time_zone"`
}

func (userRow) TableName() string { return "users" }

// User is a person or an app, as Slack described it when last asked.
type User struct {
	ID   string
	Name string // empty if Slack does not know the user
	Bot  bool
	// Guest is set for a guest of the workspace, Stranger for a member of another workspace.
	Guest, Stranger bool
	// Zone is the name of their time zone (IANA), or NoZone; "" if Slack was not asked for it.
	Zone      string
	Refreshed time.Time
}

// NoZone is the zone of a user whose time zone Slack does not know.
const NoZone = "-"

// Outsider reports whether the user may see only the channels that they are in.
func (u User) Outsider() bool { return u.Guest || u.Stranger }

// Person reports whether Slack has described the user as a person.
func (u User) Person() bool { return u.Name != "" && !u.Bot }

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
		users[r.UserID] = r.user()
	}
	return users
}

func (r userRow) user() User {
	return User{ID: r.UserID, Name: r.Name, Bot: r.IsBot, Guest: r.GuestUS > 0, Stranger: r.Stranger, Zone: r.TimeZone,
		Refreshed: instant(r.RefreshedUS)}
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
	// Presences says when those of the users who count as outsiders were in the reader's channel.
	Presences map[string]Presence
	// OutsidersRead is set if outsiders are known to read the reader's channel.
	OutsidersRead bool
	// MembersDue is set if guests may be in the reader's channel without the database knowing.
	MembersDue bool
}

// Names is the names of users and channels, as far as a reader in the channel here may know them.
// With here empty the reader is anybody.
func (s *Store) Names(ctx context.Context, team, here string, users, channels []string) (Names, error) {
	var people []userRow
	var present []outsiderRow
	var readers []struct {
		Outside int `json:"outside"`
		Due     int `json:"due"`
	}
	var places []struct {
		ChannelID   string `json:"channel_id"`
		Name        string `json:"name"`
		Private     bool   `json:"private"`
		RefreshedUS int64  `json:"refreshed_us"`
	}
	if err := runBatch(s.db.WithContext(ctx),
		query{"SELECT user_id, name, is_bot, refreshed_us, guest_us, stranger, time_zone FROM users WHERE team_id = " +
			"? AND ?", []any{team, s.inList("user_id", users)}, &people},
		query{"SELECT user_id, seen_us, left_us FROM outsiders WHERE team_id = ? AND channel_id = ? AND ?",
			[]any{team, here, s.inList("user_id", users)}, &present},
		query{"SELECT CASE WHEN ? THEN 0 ELSE 1 END AS outside, CASE WHEN ? THEN 1 ELSE 0 END AS due",
			[]any{notShared(team, here), membersDue(team, here)}, &readers},
		query{"SELECT c.channel_id, CASE WHEN ? THEN c.name ELSE '' END AS name, c.private, c.refreshed_us FROM " +
			"channels c WHERE c.team_id = ? AND ?",
			[]any{seenFrom(team, here), team, s.inList("c.channel_id", channels)}, &places},
	); err != nil {
		return Names{}, fmt.Errorf("read names: %w", err)
	}
	n := Names{
		Users: usersOf(people), Channels: make(map[string]string, len(places)),
		Refreshed: make(map[string]time.Time, len(places)), Private: make(map[string]bool, len(places)),
		Presences: make(map[string]Presence, len(present)), OutsidersRead: first(readers).Outside > 0,
		MembersDue: first(readers).Due > 0,
	}
	for _, p := range present {
		n.Presences[p.UserID] = Presence{Seen: instantOrZero(p.SeenUS), Left: instantOrZero(p.LeftUS)}
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
	// a pointer, because gorm would expand a slice
	return clause.Expr{SQL: column + " IN (SELECT UNNEST(CAST(? AS TEXT[])))", Vars: []any{&values}}
}

// SaveUsers writes what Slack says about users, each once. An answer older than the saved one is
// ignored. A user who is no outsider any more, as Slack says now, no longer counts as one.
func (s *Store) SaveUsers(ctx context.Context, team string, users ...User) error {
	if len(users) == 0 {
		return nil
	}
	rows, ids := make([]userRow, len(users)), make([]string, len(users))
	for i, u := range users {
		ids[i] = u.ID
		rows[i] = userRow{TeamID: team, UserID: u.ID, Name: u.Name, IsBot: u.Bot, RefreshedUS: micros(u.Refreshed),
			Stranger: u.Stranger, TimeZone: u.Zone}
		if u.Guest {
			rows[i].GuestUS = rows[i].RefreshedUS
		}
	}
	// one order for all writers
	slices.SortFunc(rows, func(a, b userRow) int { return strings.Compare(a.UserID, b.UserID) })
	update := clause.AssignmentColumns([]string{"name", "is_bot", "refreshed_us", "stranger", "time_zone"})
	update = append(update, clause.Assignments(map[string]any{
		"guest_us": gorm.Expr("CASE WHEN excluded.guest_us > 0 AND users.guest_us > 0 THEN users.guest_us ELSE " +
			"excluded.guest_us END"),
	})...)
	// a time in the future comes from a wrong clock
	newer := gorm.Expr("excluded.refreshed_us >= users.refreshed_us OR users.refreshed_us > ?", s.nowMicros())
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Clauses(clause.OnConflict{
			Columns: []clause.Column{{Name: "team_id"}, {Name: "user_id"}}, DoUpdates: update,
			Where: clause.Where{Exprs: []clause.Expression{newer}},
		}).CreateInBatches(rows, 100).Error; err != nil {
			return err
		}
		return tx.Exec(`DELETE FROM outsiders WHERE team_id = ? AND ? AND EXISTS (
			SELECT 1 FROM users u WHERE u.team_id = outsiders.team_id AND u.user_id = outsiders.user_id AND u.name <> '' AND u.guest_us = 0 AND NOT u.stranger
		)`, team, s.inList("user_id", ids)).Error
	})
	if err != nil {
		return fmt.Errorf("save %d users: %w", len(users), err)
	}
	return nil
}

// UsersNamed is the ids of the people who have a display name, in any case of letters, in order.
func (s *Store) UsersNamed(ctx context.Context, team, name string) (ids []string, err error) {
	if err := s.db.WithContext(ctx).Model(&userRow{}).Where("team_id = ? AND LOWER(name) = LOWER(?) AND NOT is_bot",
		team, name).
		Order("user_id").Pluck("user_id", &ids).Error; err != nil {
		return nil, fmt.Errorf("read users named %q: %w", name, err)
	}
	return ids, nil
}
