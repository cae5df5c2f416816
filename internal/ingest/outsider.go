package ingest

import (
	"context"

	"myao/internal/slack"
)

// outsider reports whether a user belongs to another company. userTeam is their workspace, empty if it
// is not known.
func (d *Door) outsider(_ context.Context, own slack.Identity, _, userTeam, _ string) bool {
	return userTeam != "" && userTeam != own.TeamID
}

// shared reports whether people of other companies read a channel. A channel that cannot be read counts
// as shared.
func (d *Door) shared(ctx context.Context, team, channel string) bool {
	known, err := d.Store.Channels(ctx, team, []string{channel})
	return err != nil || known[channel].External
}
