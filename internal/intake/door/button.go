package door

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/language/words"
	"myao/internal/operate/choice"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
	"myao/internal/store"
)

// Answers to the user of a button, told to that person alone.
const (
	replyUnknownProposal = "I no longer know of this proposal, so nothing happens."
	replyOutsiderDecides = "Guests and people from other companies decide about nothing here."
	replyMayNotDecide    = "Only <@%s>, who asked, and my operators may decide about this."
	replyDecided         = "This is decided already: %s."
	replyUnknownPromise  = "I no longer know of this promise, so nothing happens."
	replyMayNotCancel    = "Only <@%s>, who asked, and those who may snooze me here may cancel this."
	replyEnded           = "This has ended already: %s."
	replyLapsed          = "This has lapsed, because nobody decided in time. Ask me again if it is still wanted."
)

// decisions are what the buttons under a proposal decide, and their names in metrics.
var decisions = map[string]struct {
	kind  conversation.Kind
	order string
}{
	slack.ActionApprove: {conversation.Approved, "approve"},
	slack.ActionDecline: {conversation.Declined, "decline"},
}

// button handles the use of a button. Of a proposal, whoever decides first is told by the message
// itself; everybody else is told alone.
func (d room) button(ctx context.Context, b slack.BlockAction, own slack.Identity) error {
	if b.ActionID == slack.ActionFeedback {
		return d.vote(ctx, b, own)
	}
	decision, ok := decisions[b.ActionID]
	decide := d.decide
	if b.ActionID == slack.ActionCancel {
		decision.order, ok, decide = "cancel", true, d.cancelPromise
	}
	if !ok {
		return fmt.Errorf("%w: no button has the action_id %q", slack.ErrIgnored, b.ActionID)
	}
	text, result, err := decide(ctx, b, own, decision.kind)
	if err != nil {
		if !slack.LeftOut(err) {
			d.Metrics.order(decision.order, "failed")
		}
		return err
	}
	d.orderHandled(ctx, decision.order, result, b.Request, own)
	if text != "" {
		d.pending.Go(func() { d.respond(ctx, b.Request, slack.Answer{Text: text}) })
	}
	return nil
}

// undoSettings undoes what somebody has just set of a channel, by the button under the answer that told so.
func (d room) undoSettings(ctx context.Context, b slack.BlockAction, own slack.Identity) error {
	outsider, err := d.outsider(ctx, own, b.User, b.UserTeam, b.Channel)
	if err != nil {
		return err
	}
	d.pending.Go(func() {
		work, cancel := timeout.After(context.WithoutCancel(ctx), commandTimeout)
		defer cancel()
		answer, result := d.CommandHandler.Undo(work, b, own, outsider)
		d.orderHandled(work, "settings", result, b.Request, own)
		d.respond(ctx, b.Request, answer)
	})
	return nil
}

// standsAt reports whether a choice stands under a message of a channel: the value of a button is no secret. moved is
// set if that is a newer id of its channel: Slack changes no message under the old one.
func (d room) standsAt(ctx context.Context, c store.Choice, channel string) (here, moved bool, err error) {
	if here, err = d.Store.Became(ctx, c.TeamID, c.ChannelID, channel); err != nil || here {
		return here, c.ChannelID != channel, err
	}
	here, err = d.Store.StandsIn(ctx, c.Decision, channel) // Slack took no answer there
	return here, false, err
}

// clicked checks that a choice stands where its button was used, and tells whether the user is an outsider.
func (d room) clicked(ctx context.Context, c store.Choice, b slack.BlockAction,
	own slack.Identity) (moved, outsider bool, err error) {
	here, moved, err := d.standsAt(ctx, c, b.Channel)
	if err != nil {
		return false, false, err
	}
	if c.TeamID != own.TeamID || !here {
		return false, false, fmt.Errorf("%w: the button of another message", slack.ErrIgnored)
	}
	outsider, err = d.outsider(ctx, own, b.User, b.UserTeam, b.Channel)
	return moved, outsider, err
}

// cancelPromise cancels a promise, as decide does.
func (d room) cancelPromise(
	ctx context.Context, b slack.BlockAction, own slack.Identity, _ conversation.Kind,
) (text, result string, err error) {
	w := words.In(d.Config.Language)
	p, err := d.Store.Promise(ctx, b.Value)
	if errors.Is(err, store.ErrNotFound) {
		return w.Of(replyUnknownPromise), "refused", nil
	}
	if err != nil {
		return "", "", err
	}
	moved, outsider, err := d.clicked(ctx, p.Choice, b, own)
	if err != nil {
		return "", "", err
	}
	if b.User != p.Asker && !d.Config.Slack.May(b.User, outsider, config.MaySnooze) {
		return w.Say(replyMayNotCancel, p.Asker), "refused", nil
	}
	p, first, targets, err := d.Store.CancelPromise(ctx, p.ID, "slack:"+b.User)
	return d.decided(err, targets, first, moved, w.Of(replyUnknownPromise), choice.PromiseOutcome(w, p),
		w.Say(replyEnded, choice.PromiseOutcome(w, p)))
}

// decide records a decision about a proposal. It returns the answer to the user, "" for none, and the
// result for the metrics.
func (d room) decide(
	ctx context.Context, b slack.BlockAction, own slack.Identity, kind conversation.Kind,
) (text, result string, err error) {
	w := words.In(d.Config.Language)
	p, err := d.Store.Proposal(ctx, b.Value)
	if errors.Is(err, store.ErrNotFound) {
		return w.Of(replyUnknownProposal), "refused", nil
	}
	if err != nil {
		return "", "", err
	}
	if p.ShownTS != "" && p.ShownTS != b.MessageTS { // one whose ts is not known yet was posted just now
		return "", "", fmt.Errorf("%w: the button of another message", slack.ErrIgnored)
	}
	moved, outsider, err := d.clicked(ctx, p.Choice, b, own)
	if err != nil {
		return "", "", err
	}
	switch s := d.Config.Slack; {
	case s.IsOperator(b.User):
	case outsider:
		return w.Of(replyOutsiderDecides), "refused", nil
	case b.User != p.Asker && (p.Tool == chat.ToolPostMessage || // which speaks for whoever asked
		!slices.Contains(s.EveryoneMay, config.MayApprove)):
		return w.Say(replyMayNotDecide, p.Asker), "refused", nil
	}
	p, first, targets, err := d.Store.DecideProposal(ctx, p.ID, kind, "slack:"+b.User)
	late := w.Say(replyDecided, choice.ProposalOutcome(w, p))
	if p.State == store.ProposalOpen || p.State == store.ProposalLapsed {
		late = w.Of(replyLapsed)
	}
	return d.decided(err, targets, first, moved, w.Of(replyUnknownProposal), choice.ProposalOutcome(w, p), late)
}

// decided hands a decision to the relay, and returns the answer to the user: unknown if the choice is gone, late if
// somebody was first, and outcome where the message itself cannot show it.
func (d room) decided(failed error, targets []store.Target, first, moved bool,
	unknown, outcome, late string) (text, result string, err error) {
	if errors.Is(failed, store.ErrNotFound) {
		return unknown, "refused", nil
	}
	if failed != nil {
		return "", "", failed
	}
	d.Relay.Notify(targets...)
	switch {
	case !first:
		return late, "refused", nil
	case moved:
		return outcome, "done", nil
	}
	return "", "done", nil
}
