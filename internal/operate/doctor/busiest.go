package doctor

import (
	"context"
	"time"
)

const (
	// busyWindow is the time in which messages are counted.
	busyWindow = 10 * time.Minute
	// busyChannel is how many messages in that time are unusual. Slack delivers 30,000 events of a workspace
	// in an hour (docs.slack.dev/apis/events-api, "Rate limiting").
	busyChannel = 5000 * int(busyWindow) / int(time.Hour)
)

// busiest looks for a channel that is flooded.
func (e *examination) busiest(ctx context.Context) Finding {
	if why := e.noTables(ctx); why != "" {
		return skip("%s", why)
	}
	id, name, n, err := e.db.BusiestChannel(ctx, e.Clock().Add(-busyWindow))
	switch {
	case err != nil:
		return fail("check the database", "%v", err)
	case n > busyChannel:
		return warn("if it is a program that writes there, stop it or set bots: ignore; if the bot is not wanted "+
			"there, remove it from the channel: Slack drops a workspace's events from 30,000 an hour on",
			"channel %s (%s) has had %s in ten minutes, at a rate of %d an hour", name, id, count(n, "message"),
			n*int(time.Hour/busyWindow))
	}
	return ok("no channel has had more than %s in ten minutes", count(n, "message"))
}
