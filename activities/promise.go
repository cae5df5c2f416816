package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"myao/internal/answer/agents"
	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/language/words"
	"myao/internal/operate/choice"
	"myao/internal/runtime/failpoint"
	"myao/internal/slack"
	"myao/internal/store"
)

// The ledger's reasons for what comes of a promise without a judgment.
const (
	reminderReason = "a reminder that somebody asked for is due"
	promiseReason  = "a promise is due, and no judgment about it could be had"
)

const (
	// maxHeld is how late a promise may become because the bot is silenced.
	maxHeld = 24 * time.Hour
	// A promise that a silence holds up is checked again after as long as it is late, within these
	// bounds: the silence may end early.
	minRecheck, maxRecheck = 30 * time.Second, 10 * time.Minute
	// maxEventChars is how many characters of events a model is shown at once.
	maxEventChars = 16_000
)

// CheckInput names a promise that is due, by its occasion.
type CheckInput struct{ Task }

// CheckOutput says what is to be done about it.
type CheckOutput struct {
	Result conversation.CheckResult `json:"result"`
	// Until, Number, By and Verdict are those of conversation.Checked.
	Until   time.Time     `json:"until,omitzero"`
	Number  int           `json:"number,omitempty"`
	By      string        `json:"by,omitempty"`
	Verdict *chat.Verdict `json:"verdict,omitempty"`
}

// CheckPromise decides what is to be done about a promise that is due, or for which an event has come. Only one with an
// unless or with events is judged. It saves the decision in the ledger.
func (a *Activities) CheckPromise(ctx context.Context, in CheckInput) (CheckOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	if wait := a.Promises.wait(in.Conversation.ID()+"/"+in.Occasion.String(), a.Clock()); wait > 0 {
		return CheckOutput{}, classify(queuedError{"check promise", wait})
	}
	out, err := a.checkPromise(ctx, in)
	if err != nil {
		return CheckOutput{}, classify(fmt.Errorf("check promise: %w", err))
	}
	return out, nil
}

func (a *Activities) checkPromise(ctx context.Context, in CheckInput) (CheckOutput, error) {
	p, err := a.Store.Promise(ctx, in.Occasion.Promise)
	if errors.Is(err, store.ErrNotFound) { // it was forgotten
		return CheckOutput{Result: conversation.CheckOver}, nil
	}
	if err != nil {
		return CheckOutput{}, err
	}
	now := a.Clock()
	switch {
	case p.State == store.PromiseWithdrawn: // its message was deleted, which the conversation has not heard
		return CheckOutput{Result: conversation.CheckWithdraw}, nil
	case p.State != store.PromiseOpen:
		return CheckOutput{Result: conversation.CheckOver}, nil
	case p.Number != in.Occasion.Number, p.Turns().Sub(now) > time.Second: // the workflow's clock is another machine's
		return movedTo(p), nil
	}
	known, err := a.readKnown(ctx, in.Task, store.FactsRequest{})
	if err != nil {
		return CheckOutput{}, err
	}
	if d := known.Decision; d != nil {
		return a.waitsOn(ctx, p, *d, 0, checkedBefore(*d)) // what it has read is not known any more
	}
	if known.Trigger != nil && known.Trigger.Deleted {
		return CheckOutput{Result: conversation.CheckWithdraw}, nil
	}
	inputs := known.ForRules(a.Own.UserID)
	d := in.decisionRow("promise")
	d.ShouldRespond, d.Outcome = true, conversation.Pending
	switch rule := inputs.AddressedRule(); {
	case rule == conversation.RuleModeOff:
		return a.promiseSilenced(ctx, in, d, inputs, rule, conversation.CheckCancel)
	case rule != conversation.NoRule && now.Sub(p.Due()) >= maxHeld:
		return a.promiseSilenced(ctx, in, d, inputs, rule, conversation.CheckSkip)
	case rule != conversation.NoRule:
		until := now.Add(min(max(now.Sub(p.Turns()), minRecheck), maxRecheck))
		if inputs.SilencedUntil.After(now) && inputs.SilencedUntil.Before(until) {
			until = inputs.SilencedUntil
		}
		return CheckOutput{Result: conversation.CheckHold, Until: until}, a.Store.HoldPromises(ctx, in.Conversation,
			until)
	case inputs.Quiet:
		until := known.Settings.QuietUntil(now)
		return CheckOutput{Result: conversation.CheckHold, Until: until}, a.Store.HoldPromises(ctx, in.Conversation,
			until)
	}
	return a.decidePromise(ctx, in, p, d, inputs.OverBudget, now)
}

// decidePromise decides whether a promise is kept that nothing holds up.
func (a *Activities) decidePromise(ctx context.Context, in CheckInput, p store.Promise, d store.Decision,
	overBudget bool, now time.Time) (CheckOutput, error) {
	events, err := a.Store.HookEvents(ctx, p, maxEventChars)
	if err != nil {
		return CheckOutput{}, err
	}
	out := CheckOutput{Result: conversation.CheckKeep}
	switch {
	case p.Unless == "" && p.Until == "":
		d.Reason = reminderReason
	case overBudget && waits(p, now):
		return a.lookLater(ctx, p, maxRecheck)
	case overBudget:
		d.Reason, out.Result = promiseReason, conversation.CheckPlain
	default:
		v, answer, err := a.Agents.CheckPromise(ctx, agents.PromiseCheck{Conversation: in.Conversation,
			Trigger: in.Trigger, Promise: shownPromise(p, events, now)}, attemptOf(ctx, in.Task))
		if err != nil && waits(p, now) && ctx.Err() == nil {
			a.Logger.WarnContext(ctx, "events not judged; looking at them later", "conversation", in.Conversation.ID(),
				"promise", p.ID, "error", err)
			return a.lookLater(ctx, p, time.Minute)
		}
		if err != nil {
			return CheckOutput{}, err
		}
		setCost(&d, answer)
		d.ShouldRespond, d.Reason, d.Confidence, d.Addressee, d.Gist = v.ShouldRespond, v.Reason, &v.Confidence,
			v.Addressee, v.Gist
		v.Addressee, v.Gist = "", "" // they stay in the ledger
		out.Verdict = &v
		if !v.ShouldRespond {
			d.Outcome, out.Result = conversation.Silent, conversation.CheckRelease
		}
	}
	failpoint.Here("promise: checked")
	if err := a.Store.Decide(ctx, d); err != nil {
		return CheckOutput{}, err
	}
	var seen int64
	if n := len(events); n > 0 {
		seen = events[n-1].ID
	}
	d.DecidedUS = now.UnixMicro()
	return a.waitsOn(ctx, p, d, seen, out)
}

// waits reports whether a promise waits for an event that has not come by a time.
func waits(p store.Promise, now time.Time) bool { return p.Until != "" && now.Before(p.Due()) }

// waitsOn is what is to be done about a promise after a decision about its events up to seen. If these are not what it
// waits for, and people have not settled the matter, it waits on.
func (a *Activities) waitsOn(ctx context.Context, p store.Promise, d store.Decision, seen int64,
	out CheckOutput) (CheckOutput, error) {
	if out.Result != conversation.CheckRelease || d.Addressee == chat.AddresseeNobody ||
		!waits(p, time.UnixMicro(d.DecidedUS)) {
		return out, nil
	}
	p, err := a.Store.WaitOn(ctx, p.ID, seen, time.Time{})
	return movedTo(p), err
}

// lookLater has events looked at later, because they cannot be judged now.
func (a *Activities) lookLater(ctx context.Context, p store.Promise, after time.Duration) (CheckOutput, error) {
	p, err := a.Store.WaitOn(ctx, p.ID, 0, a.Clock().Add(after))
	return movedTo(p), err
}

// movedTo has the conversation turn to a promise when it is due next, or is to be looked at.
func movedTo(p store.Promise) CheckOutput {
	return CheckOutput{Result: conversation.CheckMoved, Until: p.Turns(), Number: p.Number}
}

// checkedBefore is what an earlier attempt, whose result was lost, has decided.
func checkedBefore(d store.Decision) CheckOutput {
	switch {
	case d.Reason == promiseReason:
		return CheckOutput{Result: conversation.CheckPlain}
	case d.Outcome != conversation.Silent:
		return CheckOutput{Result: conversation.CheckKeep}
	case d.Rule == "":
		return CheckOutput{Result: conversation.CheckRelease}
	case d.Rule == string(conversation.RuleModeOff):
		return CheckOutput{Result: conversation.CheckCancel, By: d.Rule}
	}
	return CheckOutput{Result: conversation.CheckSkip, By: d.Rule}
}

// promiseSilenced records that a rule ends a promise, or a time of it.
func (a *Activities) promiseSilenced(ctx context.Context, in CheckInput, d store.Decision,
	inputs conversation.RuleInputs, rule conversation.Rule, result conversation.CheckResult) (CheckOutput, error) {
	d.ShouldRespond, d.Rule, d.Reason, d.Outcome = false, string(rule), inputs.Reason(rule), conversation.Silent
	return CheckOutput{Result: result, By: string(rule)}, a.Store.Decide(ctx, d)
}

func shownPromise(p store.Promise, events []store.HookEvent, now time.Time) prompt.Promise {
	shown := prompt.Promise{Asker: p.Asker, What: p.What, Unless: p.Unless, Every: p.Every,
		Made: chat.Time(p.TriggerTS), Due: p.Due(), Until: p.Until, Waits: waits(p, now)}
	for _, e := range events {
		shown.Events = append(shown.Events, prompt.HookEvent{At: e.Received(), Text: e.Text})
	}
	return shown
}

func (a *Activities) promiseText(p store.Promise) string {
	return prompt.PromiseText(p.What, a.Agents.Recall.Persona)
}

func (a *Activities) words() words.Words { return words.In(a.Language) }

// promisesUnder are the promises that stand under a part: those that its reply confirms, and one that it keeps
// if people are asked whether it is still wanted.
func (a *Activities) promisesUnder(ctx context.Context, p store.Part) ([]slack.Choice, error) {
	made, err := a.Store.PromisesOf(ctx, p.Decision)
	if err != nil {
		return nil, err
	}
	var shown []slack.Choice
	for _, row := range made {
		shown = append(shown, choice.OfPromise(a.words(), row))
	}
	occasion := conversation.OccasionOf(p.Reply)
	kept, err := a.subjectOf(ctx, conversation.Occasion{Promise: occasion.Promise})
	if err == nil && kept.promise != nil {
		if ask, ok := choice.AskWhetherWanted(a.words(), *kept.promise, occasion.Number); ok {
			shown = append(shown, ask)
		}
	}
	return shown, err
}

// EndPromiseInput says what has become of a promise at one of its times.
type EndPromiseInput struct {
	Conversation chat.Conversation       `json:"conversation"`
	Trigger      string                  `json:"trigger"` // ts of the message that asked
	Promise      string                  `json:"promise"`
	Number       int                     `json:"number"`
	End          conversation.PromiseEnd `json:"end"`
	By           string                  `json:"by,omitempty"`
}

// Workspace implements Input.
func (in EndPromiseInput) Workspace() string { return in.Conversation.Team }

// Subject returns the ts of the message, for logs and traces.
func (in EndPromiseInput) Subject() string { return in.Trigger }

// EndPromiseOutput says when it is due again; zero if it is not.
type EndPromiseOutput struct {
	Next time.Time `json:"next,omitzero"`
}

// EndPromise records what has become of a promise. One that repeats is due again, unless it was settled or
// somebody ended it. It may be repeated.
func (a *Activities) EndPromise(ctx context.Context, in EndPromiseInput) (EndPromiseOutput, error) {
	out, err := a.endPromise(ctx, in)
	if err != nil {
		return EndPromiseOutput{}, classify(fmt.Errorf("end promise: %w", err))
	}
	return out, nil
}

func (a *Activities) endPromise(ctx context.Context, in EndPromiseInput) (EndPromiseOutput, error) {
	failpoint.Here("promise: ends")
	p, err := a.Store.Promise(ctx, in.Promise)
	if errors.Is(err, store.ErrNotFound) {
		return EndPromiseOutput{}, nil
	}
	if err != nil {
		return EndPromiseOutput{}, err
	}
	state, next := store.PromiseState(in.End), time.Time{}
	if in.End == conversation.PromiseSkipped {
		state = store.PromiseCancelled
	}
	if slices.Contains([]conversation.PromiseEnd{conversation.PromiseKept, conversation.PromiseFailed,
		conversation.PromiseSkipped}, in.End) {
		now := a.Clock()
		if now.Before(p.Due()) { // this clock is behind the workflow's
			now = p.Due()
		}
		if in.End == conversation.PromiseSkipped || !choice.PromiseEndsWith(p, in.Number) {
			next = choice.NextDue(p, now)
		}
	}
	if p, err = a.Store.EndPromise(ctx, p.ID, in.Number, state, in.By, next); err != nil {
		return EndPromiseOutput{}, err
	}
	if p.State == store.PromiseOpen && p.Number == in.Number+1 {
		return EndPromiseOutput{Next: p.Due()}, nil
	}
	return EndPromiseOutput{}, nil
}
