package door

import (
	"context"
	"log/slog"

	"myao/internal/runtime/failpoint"
	"myao/internal/slack"
)

// message records what happened to a message.
func (d room) message(ctx context.Context, e slack.MessageEvent, own slack.Identity) error {
	targets, err := d.Recorder.Record(ctx, e, own)
	if err != nil {
		return err
	}
	failpoint.Here("door: stored")
	d.Metrics.event(string(e.Kind))
	if d.Logger.Enabled(ctx, slog.LevelDebug) { // the attributes cost allocations
		d.Logger.DebugContext(ctx, "event stored", "event", e.ID, "conversation", e.Message.Conversation().ID(), "kind",
			e.Kind,
			"channel", e.Message.Channel, "ts", e.Message.TS, "targets", len(targets))
	}
	d.Relay.Notify(targets...)
	return nil
}

// channelPrivate closes a channel, and leaves out the message whose event said so.
func (d room) channelPrivate(ctx context.Context, e slack.ChannelPrivate, own slack.Identity) error {
	if err := d.Store.CloseChannel(ctx, own.TeamID, e.Channel); err != nil {
		return err
	}
	return e.Reason
}
