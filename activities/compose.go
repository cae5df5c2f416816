package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/operate/choice"
	"myao/internal/runtime/failpoint"
	"myao/internal/store"
)

// ComposeInput asks for the text of a reply.
type ComposeInput struct {
	Task
	Addressed bool `json:"addressed,omitempty"`
	// Notice asks for a note that no model writes: about a Stop, or that the bot cannot answer.
	Notice bool              `json:"notice,omitempty"`
	Stop   conversation.Stop `json:"stop,omitempty"`
	// Ordered is set if an operator ordered the reply.
	Ordered bool `json:"ordered,omitempty"`
	// Oldest is the ts of the oldest message that the reply is about. The reply is outdated if
	// somebody answered in a thread under it, or under a later message, since the judgment.
	// Empty means that no reply in a thread outdates this one.
	Oldest string `json:"oldest,omitempty"`
	// Round counts the rounds of looking things up that came before.
	Round int `json:"round,omitempty"`
	// Until is the ts of the newest message of the same person that the reply answers as well.
	Until string `json:"until,omitempty"`
}

// addressedReason is the ledger's reason for a reply that needs no judgment.
const addressedReason = "somebody addressed the bot"

// noticeReason is the ledger's reason for a note that the bot cannot answer.
const noticeReason = "no answer could be had, and the bot says so"

// occasionReason is the ledger's reason for a reply that tells what came of a proposal.
const occasionReason = "what was approved has ended, and the bot says how"

// inVain stands under a reply that promises something which the model has not made a promise of.
const inVain = "I have set no reminder for this. Ask me for one with a time."

// stopReason is the ledger's reason for a note that the bot has stopped.
const stopReason = "somebody told the bot to stop"

// ReplyOutput says how composing or posting a reply ended.
type ReplyOutput struct {
	Result conversation.Result `json:"result"`
	// By is the ts of the message that outdated a reply before it was composed.
	By string `json:"by,omitempty"`
	// Steps are what is to be looked up before the reply is written.
	Steps []conversation.Step `json:"steps,omitempty"`
	// Opened are the proposals under the reply that was posted.
	Opened []conversation.OpenProposal `json:"opened,omitempty"`
	// Promised are the promises that it confirms.
	Promised []conversation.OpenPromise `json:"promised,omitempty"`
}

// Compose reads the context, has a model write a reply, and puts that into the outbox. If the model asks
// for tools instead, that is written down, and the result is Looking. A reply that is being posted stays
// as it is. So does one that this decision has composed before, and what the model asked for in this
// round: it is not paid twice. A judged reply may get a second look first.
func (a *Activities) Compose(ctx context.Context, in ComposeInput) (ReplyOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	out, err := a.composeReply(ctx, in)
	a.composed(ctx, in, out.Result, err)
	if err != nil {
		return ReplyOutput{}, ended(ctx, classify(fmt.Errorf("compose: %w", err)))
	}
	return out, nil
}

func (a *Activities) composeReply(ctx context.Context, in ComposeInput) (ReplyOutput, error) {
	known, err := a.readKnown(ctx, in.Task, store.FactsRequest{Oldest: in.Oldest, Held: !in.Addressed,
		Looks: !in.Notice, Round: in.Round})
	if err != nil || known.Begun {
		return ReplyOutput{Result: conversation.Done}, err
	}
	if in.tookBack(known.Decision) {
		return ReplyOutput{Result: conversation.Silenced}, nil
	}
	if in.stopsThread() {
		if err := a.Store.StopThread(ctx, in.Conversation, in.Trigger); err != nil {
			return ReplyOutput{}, err
		}
		known.Stopped = false // the line about it is still posted
	}
	inputs, err := a.ruleInputs(ctx, known)
	if err != nil {
		return ReplyOutput{}, err
	}
	promise, number, err := a.promiseOf(ctx, in.Occasion)
	if err != nil {
		return ReplyOutput{}, err
	}
	if _, _, isPromise := conversation.ParsePromiseKey(in.Occasion); isPromise && promise == nil { // it was forgotten
		return ReplyOutput{Result: conversation.Gone}, nil
	}
	if promise == nil { // a promise may be old
		if inputs.UnknownOutcome, err = a.predatesLedger(ctx, in.Task); err != nil {
			return ReplyOutput{}, err
		}
	}
	d := in.decisionRow("operator")
	d.Outcome, d.ShouldRespond = conversation.Pending, true
	if in.Addressed {
		d.Source, d.Reason = "addressed", addressedReason
	}
	if in.Notice {
		d.Reason = noticeReason
	}
	if in.Stop != conversation.NoStop {
		d.Reason = stopReason
	}
	switch {
	case promise != nil:
		d.Source, d.Reason = "promise", promiseReason
	case in.Occasion != "":
		d.Reason = occasionReason
	}
	if known.Trigger != nil && known.Trigger.Deleted {
		return ReplyOutput{Result: conversation.Gone}, nil
	}
	composed := known.ComposedBy == d.Key
	if composed || in.Round > 0 || len(known.Steps) > 0 {
		inputs.OverBudget = false // the reply, or its beginning, is paid for
	}
	if rule := in.silenceRule(inputs); rule != conversation.NoRule {
		d.ShouldRespond, d.Rule, d.Reason, d.Outcome = false, string(rule), inputs.Reason(rule), conversation.Silent
		if err := a.Store.Decide(ctx, d); err != nil {
			return ReplyOutput{}, err
		}
		return ReplyOutput{Result: conversation.Silenced}, a.Store.Settle(ctx, d.Key, conversation.Silent, string(rule))
	}
	if composed {
		return ReplyOutput{Result: conversation.Done}, nil
	}
	if known.NewThreadReply != "" {
		return ReplyOutput{Result: conversation.Outdated, By: known.NewThreadReply}, nil
	}
	if len(known.Steps) > 0 {
		return ReplyOutput{Result: conversation.Looking, Steps: stepsOf(known.Steps)}, nil
	}
	text, reaction, read := "", "", a.Clock()
	saw, proposes, feedback := read, false, false
	switch {
	case promise != nil && (in.Notice || inputs.OverBudget):
		text = a.plainPromise(*promise)
	case in.Occasion != "" && (in.Notice || inputs.OverBudget):
		if text, err = a.actedNotice(ctx, in.Task); err != nil {
			return ReplyOutput{}, err
		}
	case in.Notice:
		text = a.Agents.Prompts.Notice(in.notice())
	case inputs.OverBudget:
		text = a.Agents.Prompts.Notice(prompt.OverBudget)
		d.Rule, d.Reason = string(conversation.RuleOverBudget), inputs.Reason(conversation.RuleOverBudget)
	case in.judged() && known.Decision != nil && slices.Contains(a.Agents.Reactions(), known.Decision.React):
		reaction = known.Decision.React
		text = chat.EmojiCharacter(reaction)
	default:
		a.showThinking(in)
		w, err := a.writeReply(ctx, in, known, promise, &d)
		if err != nil {
			return ReplyOutput{}, err
		}
		if w.looking {
			return ReplyOutput{Result: conversation.Looking, Steps: w.steps}, nil
		}
		text, reaction, saw, proposes = w.text, w.reaction, w.saw, w.proposes
		feedback = reaction == "" && a.Feedback.Wanted(in.Addressed)
		if promise != nil {
			text = choice.KeptText(a.words(), *promise, text, a.Clock())
		}
		if !w.read.IsZero() {
			read = w.read
		}
		if wanted, err := a.stillWanted(ctx, in, known.Decision, text, w.rounds); err != nil || !wanted {
			return ReplyOutput{Result: conversation.Silenced}, err
		}
	}
	failpoint.Here("compose: model answered")
	// Compose keeps an existing row: that of a judged reply.
	parts := a.parts(in.Task, text, saw, read)
	if promise != nil {
		_, proposes = choice.AskWhetherWanted(a.words(), *promise, number)
	}
	last := &parts[len(parts)-1]
	last.Proposes, last.Feedback, last.Reaction = proposes, feedback, reaction
	if err := a.Store.Compose(ctx, parts, d); err != nil && !errors.Is(err, store.ErrUnderWay) {
		return ReplyOutput{}, err
	}
	failpoint.Here("compose: written")
	return ReplyOutput{Result: conversation.Done}, nil
}

// notice is the note that is asked for.
func (in ComposeInput) notice() prompt.Notice {
	switch in.Stop {
	case conversation.Stopped:
		return prompt.Stopped
	case conversation.TooLate:
		return prompt.TooLate
	}
	return prompt.Unanswered
}

// stopsThread reports whether the bot is told to keep out of the thread. In a direct message every word
// is for it.
func (in ComposeInput) stopsThread() bool {
	return in.Stop != conversation.NoStop && !in.Conversation.TopLevel() && !in.Conversation.Direct()
}

// silenceRule returns the rule that forbids a reply, or NoRule. Whoever addresses the bot is answered in
// quiet hours, and gets a note if the budget is used up. An operator's order overrides quiet hours
// and a silence that has ended, but not the budget.
func (in ComposeInput) silenceRule(inputs conversation.RuleInputs) conversation.Rule {
	switch {
	case in.Addressed && in.Occasion == "":
		return inputs.AnswerRule()
	case in.Addressed || in.Notice:
		return inputs.AddressedRule()
	}
	if in.Ordered {
		inputs.Quiet, inputs.Silenced, inputs.Stopped = false, false, false
	} else if inputs.Mode == conversation.ModeMention { // since the judgment; no new message withdraws the reply
		return conversation.RuleModeMention
	}
	return inputs.UnsolicitedRule()
}

// channelWait is how long Slack may take to say who can read a channel.
const channelWait = 2 * time.Second
