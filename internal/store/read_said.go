package store

import (
	"context"
	"fmt"
	"strings"

	"myao/internal/chat"
)

// likeEscapes keeps the characters that LIKE reads apart.
var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// Mentioning returns the messages of a workspace whose text has a word, whatever its case, the oldest first.
// It reads all messages.
func (s *Store) Mentioning(ctx context.Context, team, word string, limit int) ([]chat.Message, error) {
	var rows []messageRow
	if err := s.db.WithContext(ctx).Where(`team_id = ? AND NOT deleted AND LOWER(text) LIKE ? ESCAPE '\'`, team,
		"%"+likeEscapes.Replace(strings.ToLower(word))+"%").
		Order("sent_us, channel_id").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read messages with a word: %w", err)
	}
	return mapRows(rows, messageRow.message), nil
}

// Told returns what models have handed to tools of other programs in a workspace, except for a decision: calls
// with their decision, round and input, the newest first.
func (s *Store) Told(ctx context.Context, team, except string, limit int) ([]Step, error) {
	var steps []Step
	if err := s.db.WithContext(ctx).Model(&Step{}).Select("decision, round, position, tool, input").
		Where(`team_id = ? AND decision <> ? AND tool LIKE '%\_\_%' ESCAPE '\'`, team, except).
		Order("stored_us DESC, round DESC, position DESC").Limit(limit).Find(&steps).Error; err != nil {
		return nil, fmt.Errorf("read what tools were told: %w", err)
	}
	return steps, nil
}
