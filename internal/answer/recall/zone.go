package recall

import (
	"context"

	"myao/internal/slack/channels"
	"myao/internal/store"
)

// Zone returns the name of a user's time zone (IANA), which it asks Slack for if the database does not have
// it; store.NoZone or "" if it is not known.
func (b *Builder) Zone(ctx context.Context, team, user string) string {
	known, err := b.Store.Users(ctx, team, []string{user})
	if zone := known[user].Zone; err != nil || zone != "" {
		return zone
	}
	at := b.Clock()
	fresh, err := b.Users.User(ctx, user)
	if err != nil {
		b.Logger.WarnContext(ctx, "time zone not read", "user", user, "error", err)
		return store.NoZone
	}
	saved := channels.User(fresh, at)
	if err := b.Store.SaveUsers(ctx, team, saved); err != nil {
		b.Logger.WarnContext(ctx, "time zone not saved", "user", user, "error", err)
	}
	return saved.Zone
}
