package door

import (
	"context"

	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/store"
)

// channelIDChanged records that Slack has given a channel a new id. Mutes and snoozes of the old id
// hold for the new one, too. Settings under the old id no longer apply. The channel is then muted
// until somebody moves them, so that the bot does not speak by settings meant for other channels.
func (d room) channelIDChanged(ctx context.Context, e slack.ChannelIDChanged, own slack.Identity) error {
	move := store.Move{Team: own.TeamID, From: e.Old, To: e.New}
	lost := d.Config.LeavesSettingsBehind(e.Old, e.New)
	if lost {
		move.Mute = d.Clock().Add(conversation.MuteDuration)
	}
	if err := d.Store.MoveChannel(ctx, move); err != nil {
		return err
	}
	d.Metrics.event("moved")
	d.Logger.InfoContext(ctx, "channel has a new id", "channel", e.New, "before", e.Old)
	if lost {
		d.Logger.WarnContext(ctx, "a channel has a new id, and its settings are under the old one; it is muted: move "+
			"its settings to the new id, then unmute it",
			"channel", e.New, "before", e.Old)
	}
	return nil
}
