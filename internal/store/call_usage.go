package store

import (
	"context"
	"fmt"
	"time"
)

// Usage is the total of some calls of models, and of the votes about what they wrote.
type Usage struct {
	TeamID    string `json:"-"`
	ChannelID string `json:"channel,omitempty"` // empty for the workspace's memory
	Purpose   string `json:"purpose,omitempty"`
	Provider  string `json:"provider,omitempty"`
	Model     string `json:"model,omitempty"`
	// Failed is how many of the Calls got no answer.
	Calls    int `json:"calls"`
	Failed   int `json:"failed"`
	TokensIn int `json:"tokens_in"`
	// TokensCached is the part of TokensIn that providers had read before.
	TokensCached int `json:"tokens_cached"`
	TokensOut    int `json:"tokens_out"`
	// Up and Down count the votes of people about replies.
	Up   int `json:"up"`
	Down int `json:"down"`
}

// Usage totals the calls from a time until before another, per channel, purpose, provider and
// model, in that order. Votes of that time follow in rows of their own, which count no calls: a vote
// belongs to the model that wrote the reply.
func (s *Store) Usage(ctx context.Context, from, to time.Time) (sums []Usage, err error) {
	if err := s.db.WithContext(ctx).Model(&callRow{}).Where("called_us >= ? AND called_us < ?", microsOrZero(from),
		microsOrZero(to)).
		Select(`team_id, channel_id, purpose, provider, model, COUNT(*) AS calls,
			SUM(CASE WHEN error <> '' THEN 1 ELSE 0 END) AS failed, SUM(tokens_in) AS tokens_in,
			SUM(tokens_cached) AS tokens_cached, SUM(tokens_out) AS tokens_out`).
		Group("team_id, channel_id, purpose, provider, model").Order("team_id, channel_id, purpose, provider, model").
		Scan(&sums).Error; err != nil {
		return nil, fmt.Errorf("sum calls of models: %w", err)
	}
	const wrote = "FROM model_calls c WHERE c.decision = f.decision AND c.decision <> '' AND c.purpose = 'response' " +
		"AND c.error = '' ORDER BY c.id DESC LIMIT 1"
	var votes []Usage
	if err := s.db.WithContext(ctx).Raw(`
		SELECT team_id, channel_id, 'response' AS purpose, provider, model,
			SUM(CASE WHEN value = ? THEN 1 ELSE 0 END) AS up, SUM(CASE WHEN value = ? THEN 1 ELSE 0 END) AS down FROM (
			SELECT f.team_id, f.channel_id, f.value, COALESCE((SELECT c.provider `+wrote+`), '') AS provider, COALESCE((SELECT c.model `+wrote+`), '') AS model
			FROM feedback f
			WHERE f.voted_us >= ? AND f.voted_us < ?) voted
		GROUP BY team_id, channel_id, provider, model ORDER BY team_id, channel_id, provider, model`,
		VoteUp, VoteDown, microsOrZero(from), microsOrZero(to)).Scan(&votes).Error; err != nil {
		return nil, fmt.Errorf("sum feedback: %w", err)
	}
	return append(sums, votes...), nil
}
