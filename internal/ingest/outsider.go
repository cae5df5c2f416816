package ingest

import (
	"context"

	"myao/internal/slack"
)

// outsider reports whether a user is a guest or belongs to another workspace. userTeam is their
// workspace, empty if it is not known. Slack is asked about users who are not known; while it does not
// answer, they count as colleagues, since what they may do shows nothing of other channels.
func (d *Door) outsider(ctx context.Context, own slack.Identity, user, userTeam string) bool {
	if userTeam != "" && userTeam != own.TeamID {
		return true
	}
	known, err := d.whoIs(ctx, own.TeamID, user)
	if err != nil {
		d.Logger.WarnContext(ctx, "cannot tell whether a user is a guest; taken for a colleague", "user", user, "error", err)
	}
	return known.Outsider()
}

// shared reports whether people of other companies read a channel. A channel that cannot be read counts
// as shared.
func (d *Door) shared(ctx context.Context, team, channel string) bool {
	known, err := d.Store.Channels(ctx, team, []string{channel})
	return err != nil || known[channel].External
}
