package ingest

import (
	"context"

	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/store"
)

// channelIDChanged records that Slack has given a channel a new id. Who has silenced the bot
// under the old id means the new one, too. Settings under the old id no longer apply: the channel
// is muted until somebody has moved them, so that the bot does not speak by other settings than
// were meant for it.
func (d *Door) channelIDChanged(ctx context.Context, e slack.ChannelIDChanged, own slack.Identity) error {
	move := store.Move{Team: own.TeamID, From: e.Old, To: e.New}
	lost := d.Config.LeavesSettingsBehind(e.Old, e.New)
	if lost {
		move.Mute = d.Clock().Add(conversation.MuteDuration)
	}
	if err := d.Store.MoveChannel(ctx, move); err != nil {
		return err
	}
	d.Metrics.event("moved")
	d.Logger.InfoContext(ctx, "channel has another id", "channel", e.New, "before", e.Old)
	if lost {
		d.Logger.WarnContext(ctx, "the settings of a channel stand under an id that it has no longer; it is muted: move them to its new id, and unmute it",
			"channel", e.New, "before", e.Old)
	}
	return nil
}
