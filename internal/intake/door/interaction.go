package door

import (
	"cmp"
	"context"
	"fmt"

	"myao/internal/operate/chatops"
	"myao/internal/slack"
)

// interaction handles the use of a shortcut, a button or a view. It is answered at its
// response_url alone, once everything about it is committed.
func (d *Door) interaction(ctx context.Context, i slack.Interaction) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(d.patience, replyTimeout))
	defer cancel()
	team, organisation := i.Authorization()
	r, own, err := d.enter(ctx, team, organisation)
	switch {
	case err == nil:
		err = r.act(ctx, i, own)
	case !slack.LeftOut(err):
		d.Metrics.event("failed")
	}
	if slack.LeftOut(err) {
		d.leaveOut(ctx, "", i.Type, err)
		return nil
	}
	return err
}

// act decodes an interaction and carries it out. Its error is a reason to leave the interaction
// out (slack.LeftOut), or says why it failed.
func (d room) act(ctx context.Context, i slack.Interaction, own slack.Identity) error {
	action, err := slack.DecodeInteraction(i, own)
	if err != nil {
		return err
	}
	switch a := action.(type) {
	case slack.MessageShortcut:
		return d.shortcut(ctx, a, own)
	case slack.BlockAction:
		undoes := a.ActionID == slack.ActionUndoSettings
		switch {
		case undoes && a.ResponseURL != "":
			return d.undoSettings(ctx, a, own)
		case undoes, chatops.HomeOrder(a.ActionID) != "":
			return d.homeButton(ctx, a, own)
		}
		return d.button(ctx, a, own)
	case slack.ViewSubmission:
		if a.Callback == slack.ActionHomeSettings {
			return d.homeForm(ctx, a, own)
		}
		return d.voteReason(ctx, a)
	}
	return fmt.Errorf("%w: nothing handles %T", slack.ErrIgnored, action)
}
