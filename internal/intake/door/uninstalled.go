package door

import (
	"context"

	"myao/internal/slack"
	"myao/internal/store"
)

// Installation is told when Slack no longer takes the bot's token.
type Installation interface {
	Revoke(ctx context.Context, r store.Revocation) error
}

// uninstalled records that Slack no longer takes the bot's token.
func (d room) uninstalled(ctx context.Context, e slack.Uninstalled) error {
	if err := d.Installation.Revoke(ctx, store.Revocation{Cause: e.Cause, At: e.At}); err != nil {
		return err
	}
	d.Metrics.event("uninstalled")
	return nil
}
