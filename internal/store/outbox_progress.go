package store

import (
	"context"
	"fmt"
)

// ReplyProgress reports how far replies to a message have come: begun after the first attempt to
// post one, posted once one is in Slack.
func (s *Store) ReplyProgress(ctx context.Context, team, channel, ts string) (begun, posted bool, err error) {
	var row struct{ Begun, Posted int }
	if err := s.db.WithContext(ctx).Model(&outboxRow{}).
		Where("team_id = ? AND channel_id = ? AND trigger_ts = ? AND state <> ?", team, channel, ts, Failed).
		Select("COALESCE(MAX(attempts), 0) AS begun, COUNT(CASE WHEN state = ? THEN 1 END) AS posted", Sent).Scan(&row).
		Error; err != nil {
		return false, false, fmt.Errorf("read replies to message %s in %s: %w", ts, channel, err)
	}
	return row.Begun > 0, row.Posted > 0, nil
}
