package workspaces

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"myao/internal/slack"
)

// list asks Slack which workspaces an organisation grants its installation to, and records what has changed. Slack says
// so by events, too, which may be lost. Their times are whole seconds: one of this second counts as later. Of two lists
// within a second the later counts.
func (i *installed) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	i.mu.Lock()
	row, token := i.row, i.token
	i.mu.Unlock()
	at := i.clock().Add(-time.Second)
	client := slack.New(slack.Config{Token: token, APIURL: i.config.Slack.APIURL, Metrics: i.metrics, Gate: i})
	granted := map[string]string{}
	for cursor := ""; ; {
		page, next, err := client.TeamNames(ctx, cursor)
		if refused, ok := errors.AsType[*slack.Error](err); ok && refused.Kind == slack.Final {
			i.unlisted.Store(false) // asking again would not help
		}
		if err != nil {
			return fmt.Errorf("ask for the workspaces of %s: %w", row.ID, err)
		}
		maps.Copy(granted, page)
		if cursor = next; cursor == "" {
			break
		}
	}
	s := i.store.Load()
	known, err := s.TeamsOf(ctx, row.ID)
	if err != nil {
		return err
	}
	for _, t := range known {
		_, still := granted[t.Team]
		if t.Granted {
			delete(granted, t.Team)
		}
		if t.Granted && !still {
			if _, err := s.WithdrawTeam(ctx, row.ID, t.Team, at); err != nil {
				return err
			}
		}
	}
	for team, name := range granted {
		if _, err := s.GrantTeam(ctx, row.ID, team, name, at); err != nil {
			return err
		}
	}
	i.unlisted.Store(false)
	return i.reload(ctx, row.ID)
}

// granted asks Slack, unless it has just been asked for this workspace, whether the installation of an organisation
// serves a workspace that an event names: that it was granted may have been lost, or come later. Of several events one
// asks, and the others wait.
func (w *Workspaces) granted(ctx context.Context, team, organisation string) (*Workspace, error) {
	i := w.own(organisation)
	if i == nil || i.Closed() {
		return nil, foreign(team)
	}
	i.listing.Lock()
	defer i.listing.Unlock()
	if of, err := w.Of(ctx, team); !errors.Is(err, slack.ErrForeign) || w.clock().Sub(i.listed[team]) < unknownFor {
		return of, err
	}
	if i.listed == nil || len(i.listed) >= maxUnknown {
		i.listed = map[string]time.Time{}
	}
	i.listed[team] = w.clock()
	if err := i.list(ctx); err != nil {
		return nil, err
	}
	return w.Of(ctx, team)
}
