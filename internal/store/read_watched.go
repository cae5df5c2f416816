package store

import (
	"context"
	"fmt"

	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// Watched is the channels that the bot is in and a person may know of, the most recently active first,
// at most most: those that the person is in, and with colleague set the public ones. A public channel
// that keeps its memories to itself is known to its members only.
func (s *Store) Watched(ctx context.Context, team string, in []string, colleague bool, most int) ([]Channel, error) {
	open := clause.Expr{SQL: "FALSE"}
	if colleague {
		open = clause.Expr{SQL: "(" + public + " AND NOT ?)", Vars: []any{s.keptFrom("")}}
	}
	var rows []channelRow
	if err := s.db.WithContext(ctx).Table("channels c").Where("c.team_id = ? AND "+joined, team).
		Where("(? OR ?)", s.inList("c.channel_id", append([]string{""}, in...)), open).
		Order("c.active_us DESC, c.channel_id").Limit(most).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read watched channels: %w", err)
	}
	return mapRows(rows, channelRow.channel), nil
}

// NewestNotes is the newest notes of some channels, at most most, and their channels.
func (s *Store) NewestNotes(
	ctx context.Context, team string, channels []string, most int,
) (notes []chat.Note, in []string, err error) {
	if len(channels) == 0 {
		return nil, nil, nil
	}
	var rows []noteRow
	if err := s.db.WithContext(ctx).Table("notes n").
		Where("n.team_id = ? AND ?", team, s.inList("n.channel_id", channels)).
		Order("n.id DESC").Limit(most).Find(&rows).Error; err != nil {
		return nil, nil, fmt.Errorf("read the newest notes: %w", err)
	}
	for _, r := range rows {
		notes, in = append(notes, r.note()), append(in, r.ChannelID)
	}
	return notes, in, nil
}
