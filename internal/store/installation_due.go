package store

import (
	"context"
	"fmt"
	"time"
)

// DueRequest asks for a page of the workspaces that a job is to be done for.
type DueRequest struct {
	// Token is the workspace of slack.bot_token; empty without one.
	Token string
	// Active asks for those in which something was said since then.
	Active time.Time
	// Job, unless it is empty, asks also for those that the job, by its schedule's id, has not been through since Last.
	Job  string
	Last time.Time
	// Gaps asks instead for those with channels to read (Gaps), and those last read before Last.
	Gaps bool
	// After is the last team of the page before.
	After string
	Limit int
}

// WorkspacesDue returns, in order, the teams that a job is to be done for: those that have installed the app, or to
// which an organisation has granted it, and that of the token. One statement asks for all of them, so that a workspace
// in which nothing happens costs nothing.
func (s *Store) WorkspacesDue(ctx context.Context, r DueRequest) (teams []string, err error) {
	due := `EXISTS (SELECT 1 FROM channels c WHERE c.team_id = w.team AND c.active_us >= @active)
		OR @job <> '' AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.schedule = w.team || '/' || @job AND r.ran_us >= @last)`
	if r.Gaps {
		due = `COALESCE(t.closed, g.closed) < g.newest OR COALESCE(t.closed_us, g.closed_us) < @last
			OR EXISTS (SELECT 1 FROM channels c WHERE c.team_id = w.team AND ` + joined + ` AND c.read_gap < g.newest)`
	}
	if err := s.db.WithContext(ctx).Raw(`
		SELECT w.team FROM (
			SELECT id AS team FROM installations WHERE state = 'active' AND id NOT LIKE 'E%'
			UNION SELECT t.team_id FROM installation_teams t JOIN installations i ON i.id = t.installation_id
				WHERE t.granted AND i.state = 'active'
			UNION SELECT CAST(@token AS TEXT) WHERE CAST(@token AS TEXT) <> ''
		) w CROSS JOIN gaps g LEFT JOIN closed_gaps t ON t.team_id = w.team
		WHERE w.team > @after AND (`+due+`) ORDER BY w.team LIMIT @limit`,
		map[string]any{"token": r.Token, "active": microsOrZero(r.Active), "job": r.Job, "last": microsOrZero(r.Last),
			"after": r.After, "limit": r.Limit}).Scan(&teams).Error; err != nil {
		return nil, fmt.Errorf("read for which workspaces there is something to do: %w", err)
	}
	return teams, nil
}
