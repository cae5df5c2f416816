package door

import (
	"context"

	"myao/internal/slack"
)

// outsider reports whether a user is a guest or belongs to another company. Of a user whom Slack has
// never described, the workspace that came with the request tells, and whether the channel is shared.
// userTeam is empty if none came.
func (d room) outsider(ctx context.Context, own slack.Identity, user, userTeam, channel string) (bool, error) {
	users, err := d.Store.Users(ctx, own.TeamID, []string{user})
	if err != nil {
		return false, err
	}
	known := users[user]
	if d.Clock().Sub(known.Refreshed) > userMaxAge {
		if described, err := d.refreshUser(ctx, own.TeamID, user); err == nil {
			known = described
		} else {
			d.Logger.WarnContext(ctx, "cannot ask whether a user is an outsider", "user", user, "error", err)
		}
	}
	if known.Refreshed.Unix() > 0 {
		return known.Outsider(), nil
	}
	return userTeam != "" && userTeam != own.TeamID || d.shared(ctx, own.TeamID, channel), nil
}

// shared reports whether outsiders read a channel. A channel that cannot be read counts as shared.
func (d room) shared(ctx context.Context, team, channel string) bool {
	known, err := d.Store.Channels(ctx, team, []string{channel})
	return err != nil || known[channel].External || known[channel].OrgShared
}
