package store

import (
	"context"
	"fmt"
	"time"
)

// Usage is the total of some calls of models.
type Usage struct {
	TeamID, ChannelID        string // ChannelID is empty for the workspace's memory
	Purpose, Provider, Model string
	// Failed is how many of the Calls got no answer.
	Calls, Failed       int
	TokensIn, TokensOut int
}

// Usage totals the calls from a time until before another, per channel, purpose, provider and
// model, in that order.
func (s *Store) Usage(ctx context.Context, from, to time.Time) (sums []Usage, err error) {
	if err := s.db.WithContext(ctx).Model(&callRow{}).Where("called_us >= ? AND called_us < ?", microsOrZero(from), microsOrZero(to)).
		Select(`team_id, channel_id, purpose, provider, model, COUNT(*) AS calls,
			SUM(CASE WHEN error <> '' THEN 1 ELSE 0 END) AS failed, SUM(tokens_in) AS tokens_in, SUM(tokens_out) AS tokens_out`).
		Group("team_id, channel_id, purpose, provider, model").Order("team_id, channel_id, purpose, provider, model").Scan(&sums).Error; err != nil {
		return nil, fmt.Errorf("sum calls of models: %w", err)
	}
	return sums, nil
}
