package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// Past is what Context.Messages was at an earlier time, as far as it may still be told.
type Past struct {
	// Messages are in order of time, in their newest form.
	Messages []chat.Message
	// Reactions stood under them at that time, the oldest first.
	Reactions []Reaction
}

// Past reads what there was for a conversation at a time: its newest messages up to limit, as many of its
// channel's, and the parents of their threads. It leaves out what was deleted or forgotten since, and what is of
// a person who was forgotten.
func (s *Store) Past(ctx context.Context, c chat.Conversation, at time.Time, limit int) (Past, error) {
	db := s.db.WithContext(ctx)
	failed := func(err error) (Past, error) { return Past{}, fmt.Errorf("read what %s was: %w", c.ID(), err) }
	marks, err := forgotten(db, c.Team, c.Channel)
	if err != nil {
		return failed(err)
	}
	all := marks.exclude(db.Where("team_id = ? AND channel_id = ? AND NOT deleted", c.Team, c.Channel))
	var around, own, parents []messageRow
	newest := all.Where("sent_us <= ?", micros(at)).Order("sent_us DESC").Limit(limit).Session(&gorm.Session{})
	if err := errors.Join(newest.Find(&around).Error, newest.Where("thread_ts = ?", c.Thread).Find(&own).
		Error); err != nil {
		return failed(err)
	}
	rows := around
	for _, r := range own {
		if !slices.ContainsFunc(around, func(a messageRow) bool { return a.TS == r.TS }) {
			rows = append(rows, r)
		}
	}
	if err := all.Where("ts IN ?", absentParents(append(rows, messageRow{ThreadTS: c.Thread}))).Find(&parents).
		Error; err != nil {
		return failed(err)
	}
	if rows = append(rows, parents...); len(rows) == 0 {
		return Past{}, nil
	}
	var reactions []reactionRow
	if err := db.Where("team_id = ? AND channel_id = ? AND ts IN ? AND added_us <= ? AND (removed_us < added_us OR "+
		"removed_us > ?)",
		c.Team, c.Channel, timestamps(rows), micros(at), micros(at)).Order("added_us, ts, user_id, name").
		Find(&reactions).Error; err != nil {
		return failed(err)
	}
	// A person may be being forgotten right now.
	said := messages(rows)
	everybody := slices.Clone(said)
	for _, r := range reactions {
		everybody = append(everybody, chat.Message{Team: r.TeamID, Channel: r.ChannelID, UserID: r.UserID})
	}
	erased, err := erasuresOf(db, everybody)
	if err != nil {
		return failed(err)
	}
	var p Past
	for _, m := range said {
		if m, storable := erased.storable(m); storable {
			p.Messages = append(p.Messages, m)
		}
	}
	slices.SortFunc(p.Messages, func(a, b chat.Message) int { return chat.CompareTS(a.TS, b.TS) })
	for _, r := range reactions {
		if r.AddedUS > erased.persons[r.UserID] {
			p.Reactions = append(p.Reactions, Reaction{Team: r.TeamID, Channel: r.ChannelID, TS: r.TS, User: r.UserID,
				Name: r.Name, At: instant(r.AddedUS)})
		}
	}
	return p, nil
}

// AllUsers is everybody whom the database knows in a workspace, in order of id.
func (s *Store) AllUsers(ctx context.Context, team string) ([]User, error) {
	var rows []userRow
	if err := s.db.WithContext(ctx).Where("team_id = ?", team).Order("user_id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read all users: %w", err)
	}
	return mapRows(rows, userRow.user), nil
}

// AllChannels is every channel that the database knows in a workspace, direct messages among them, in order of id.
func (s *Store) AllChannels(ctx context.Context, team string) ([]Channel, error) {
	var rows []channelRow
	if err := s.db.WithContext(ctx).Where("team_id = ?", team).Order("channel_id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read all channels: %w", err)
	}
	return mapRows(rows, channelRow.channel), nil
}

// OwnUser is the bot's user id, as its own messages have it; empty if it has said nothing.
func (s *Store) OwnUser(ctx context.Context, team string) (user string, err error) {
	if err := s.db.WithContext(ctx).Model(&messageRow{}).Where("team_id = ? AND own AND user_id <> ''", team).
		Limit(1).Select("user_id").Scan(&user).Error; err != nil {
		return "", fmt.Errorf("read who the bot is: %w", err)
	}
	return user, nil
}
