package door

import (
	"context"
	"encoding/json"
	"fmt"

	"myao/internal/operate/chatops"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
)

// interaction handles the use of a shortcut, a button or a view. It is answered at its
// response_url, once everything about it is committed; a form where something is wrong is answered at once.
func (d *Door) interaction(ctx context.Context, i slack.Interaction) (answer json.RawMessage, err error) {
	ctx, cancel := timeout.After(ctx, replyTimeout)
	defer cancel()
	team, organisation := i.Authorization()
	r, own, err := d.enter(ctx, team, organisation)
	switch {
	case err == nil:
		answer, err = r.act(ctx, i, own)
	case !slack.LeftOut(err):
		d.Metrics.event("failed")
	}
	if slack.LeftOut(err) {
		d.leaveOut(ctx, "", i.Type, err)
		return nil, nil
	}
	return answer, err
}

// act decodes an interaction and carries it out. Its error is a reason to leave the interaction
// out (slack.LeftOut), or says why it failed.
func (d room) act(ctx context.Context, i slack.Interaction, own slack.Identity) (json.RawMessage, error) {
	action, err := slack.DecodeInteraction(i, own)
	if err != nil {
		return nil, err
	}
	switch a := action.(type) {
	case slack.MessageShortcut:
		return nil, d.shortcut(ctx, a, own)
	case slack.BlockAction:
		undoes := a.ActionID == slack.ActionUndoSettings
		switch {
		case undoes && a.ResponseURL != "":
			return nil, d.undoSettings(ctx, a, own)
		case undoes, chatops.HomeOrder(a.ActionID) != "":
			return nil, d.homeButton(ctx, a, own)
		}
		return nil, d.button(ctx, a, own)
	case slack.ViewSubmission:
		if a.Callback == slack.ActionHomeSettings {
			return d.homeForm(ctx, a, own)
		}
		return nil, d.voteReason(ctx, a)
	}
	return nil, fmt.Errorf("%w: nothing handles %T", slack.ErrIgnored, action)
}
