package ingest

import (
	"context"

	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/store"
)

// moved takes in that Slack has given a channel another id. Whoever has silenced the bot
// under the old one means the new one, too. Settings under the old one hold no longer: lest
// the bot speak by others than were meant for the channel, it is muted until somebody has
// looked.
func (d *Door) moved(ctx context.Context, env slack.Envelope, own slack.Identity) error {
	from, to, err := slack.ReadMove(env, own)
	if err != nil {
		d.leaveOut(ctx, env.EventID, env.EventType, err)
		return nil
	}
	move := store.Move{Team: own.TeamID, From: from, To: to}
	lost := d.Config.LeavesSettingsBehind(from, to)
	if lost {
		move.Mute = d.Clock().Add(conversation.MuteDuration)
	}
	if err := d.Store.MoveChannel(ctx, move); err != nil {
		d.Metrics.event("failed")
		return err
	}
	d.Metrics.event("moved")
	d.Logger.InfoContext(ctx, "channel has another id", "event", env.EventID, "channel", to, "before", from)
	if lost {
		d.Logger.WarnContext(ctx, "the settings of a channel stand under an id that it has no longer; it is muted: move them to its new id, and unmute it",
			"channel", to, "before", from)
	}
	return nil
}
