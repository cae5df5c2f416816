package door

import (
	"context"
	"time"

	"myao/internal/slack"
)

// Installations are told what Slack says of the installations of the app.
type Installations interface {
	// Revoke records that Slack no longer takes the token of a team, or of an organisation's installation. An
	// installation that is not known, or is not concerned, is slack.ErrForeign or slack.ErrIgnored.
	Revoke(ctx context.Context, team, organisation string, e slack.Uninstalled) error
	// Grant records that an organisation has granted its installation to teams, or withdrawn it.
	Grant(ctx context.Context, organisation string, teams []string, granted bool, at time.Time) error
}

// uninstalled records that Slack no longer takes a token.
func (d *Door) uninstalled(ctx context.Context, team, organisation string, e slack.Uninstalled) error {
	if e.At.IsZero() {
		e.At = d.Clock()
	}
	if err := d.Installations.Revoke(ctx, team, organisation, e); err != nil {
		return err
	}
	d.Metrics.event("uninstalled")
	return nil
}

// access records to which workspaces an organisation has granted its installation, or no longer does.
func (d *Door) access(ctx context.Context, a slack.TeamAccess, granted bool) error {
	if a.At.IsZero() {
		a.At = d.Clock()
	}
	if err := d.Installations.Grant(ctx, a.Organisation, a.Teams, granted, a.At); err != nil {
		return err
	}
	d.Metrics.event("access")
	return nil
}
