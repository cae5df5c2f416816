package agents

import (
	"context"
	"time"

	"myao/internal/config"
	"myao/internal/runtime/timeout"
)

// zoneWait is how long Slack may take to say in which time zone somebody is.
const zoneWait = 2 * time.Second

// ZoneOf is the time zone of whoever asks, as Slack knows it: known (an IANA name), or asked for if that is
// empty. Without one it is the channel's.
func (ag *Agents) ZoneOf(ctx context.Context, team, user, known string,
	settings config.ChannelSettings) *time.Location {
	if known == "" && user != "" {
		ctx, cancel := timeout.After(ctx, zoneWait)
		defer cancel()
		known = ag.Recall.Zone(ctx, team, user)
	}
	if zone, err := time.LoadLocation(known); err == nil && known != "" {
		return zone
	}
	return settings.Zone
}
