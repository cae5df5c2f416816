package chatops

import (
	"context"

	"myao/internal/slack"
)

// homeOrders are the subcommands that the buttons of the Home tab stand for.
var homeOrders = map[string]string{
	slack.ActionHomeMute:   "mute",
	slack.ActionHomeSnooze: "snooze",
	slack.ActionHomeUnmute: "unmute",

	slack.ActionHomeSettings: "settings",
	slack.ActionUndoSettings: "settings",
}

// HomeOrder is the subcommand that a button of the Home tab stands for; "" if it is no such button.
func HomeOrder(action string) string { return homeOrders[action] }

// Click carries out what a button of the Home tab stands for, as if the viewer had typed the subcommand in
// its channel. The text tells what came of it; result is as in Answer. A channel that the viewer may not
// know of any more is not named.
func (h *Home) Click(ctx context.Context, b slack.BlockAction, v Viewer) (notice slack.Answer, result string) {
	if b.ActionID == slack.ActionUndoSettings {
		return h.undo(ctx, b, v.Own, v.Outsider)
	}
	watched, _, err := h.situation(ctx, v, 0)
	c := find(watched, b.Value)
	switch {
	case err != nil:
		notice.Text, result = h.internalError(ctx, request{Command: slack.Command{Request: b.Request}}, "home", err)
		return notice, result
	case c == nil:
		return slack.Answer{Text: h.say("I no longer know of that channel, so nothing happens.")}, refused
	case b.ActionID == slack.ActionHomeSettings:
		return h.openSettings(ctx, b, v, c)
	}
	command := slack.Command{Request: b.Request, Name: h.Config.Slack.Command, Text: homeOrders[b.ActionID]}
	command.Channel = b.Value
	notice.Text, _, result = h.answer(ctx, command, v.Own, v.Outsider, &notice.Button)
	notice.Text = h.channelLabel(c.Channel) + ": " + notice.Text
	return notice, result
}
