package activities

import (
	"context"
	"slices"
	"time"

	"myao/internal/answer/agents"
	"myao/internal/answer/prompt"
	"myao/internal/conversation"
	"myao/internal/store"
)

// The ledger's reasons for replies that need no judgment.
const (
	addressedReason = "somebody addressed the bot"
	noticeReason    = "no answer could be had, and the bot says so"
	stopReason      = "somebody told the bot to stop"
	// occasionReason is that of a reply that tells what came of a proposal.
	occasionReason = "what was approved has ended, and the bot says how"
)

// knownReply is what is known before a reply is written.
type knownReply struct {
	agents.Known
	subject
	rules conversation.RuleInputs
	read  time.Time // when it was read
}

// readForReply reads what is known before a reply is written.
func (a *Activities) readForReply(ctx context.Context, in ComposeInput) (k knownReply, err error) {
	if k.Known, err = a.readKnown(ctx, in.Task, store.FactsRequest{Oldest: in.Oldest, Held: !in.Addressed,
		Looks: !in.Notice, Round: in.Round}); err != nil {
		return k, err
	}
	k.rules = k.ForRules(a.Own.UserID)
	if k.subject, err = a.subjectOf(ctx, in.Occasion); err != nil {
		return k, err
	}
	if k.promise == nil { // a promise may be old
		k.rules.UnknownOutcome, err = a.predatesLedger(ctx, in.Task)
	}
	k.read = a.Clock()
	return k, err
}

// writing is who writes a reply, if anybody does.
type writing int

const (
	writeNothing  writing = iota
	writeSilence          // a rule forbids the reply
	writeOccasion         // its occasion, in words of our own
	writeNotice
	writeReaction // an emoji stands for it
	writeAnswer   // a model writes it
)

// replyPlan is what is to be done about a reply.
type replyPlan struct {
	write writing
	// decision is the row of the ledger; it is not set with writeNothing.
	decision store.Decision
	// result is how composing ends with writeNothing; by is the ts of what outdated the reply, and steps are what is
	// to be looked up before it.
	result conversation.Result
	by     string
	steps  []store.Step
	// stops is set if the bot is to keep out of the thread from now on.
	stops bool
	// notice is the note with writeNotice, and reaction the name of the emoji with writeReaction.
	notice   prompt.Notice
	reaction string
}

// whatToWrite decides what is to be done about a reply. reactions are the emoji that may stand for one.
func (in ComposeInput) whatToWrite(k knownReply, reactions []string) (p replyPlan) {
	switch {
	case k.Begun:
		return replyPlan{result: conversation.Done}
	case in.tookBack(k.Decision):
		return replyPlan{result: conversation.Silenced}
	}
	p = replyPlan{stops: in.stopsThread(), decision: in.decision()}
	if in.hasOccasion() && k.isNothing() || k.Trigger != nil && k.Trigger.Deleted {
		p.result = conversation.Gone
		return p
	}
	composed := k.ComposedBy == p.decision.Key
	if composed || in.Round > 0 || len(k.Steps) > 0 {
		k.rules.OverBudget = false // the reply, or its beginning, is paid for
	}
	if p.stops {
		k.rules.Stopped = false // the line about it is still posted
	}
	if rule := in.silenceRule(k.rules); rule != conversation.NoRule {
		p.write = writeSilence
		p.decision.ShouldRespond, p.decision.Outcome = false, conversation.Silent
		p.decision.Rule, p.decision.Reason = string(rule), k.rules.Reason(rule)
		return p
	}
	switch {
	case composed:
		p.result = conversation.Done
	case k.NewThreadReply != "":
		p.result, p.by = conversation.Outdated, k.NewThreadReply
	case len(k.Steps) > 0:
		p.result, p.steps = conversation.Looking, k.Steps
	case in.hasOccasion() && (in.Notice || k.rules.OverBudget || k.isPost()):
		p.write = writeOccasion
	case in.Notice:
		p.write, p.notice = writeNotice, in.notice()
	case k.rules.OverBudget:
		p.write, p.notice = writeNotice, prompt.OverBudget
		p.decision.Rule = string(conversation.RuleOverBudget)
		p.decision.Reason = k.rules.Reason(conversation.RuleOverBudget)
	case in.judged() && k.Decision != nil && slices.Contains(reactions, k.Decision.React):
		p.write, p.reaction = writeReaction, k.Decision.React
	default:
		p.write = writeAnswer
	}
	return p
}

// decision is the row of the ledger for a reply that is written.
func (in ComposeInput) decision() store.Decision {
	d := in.decisionRow("operator")
	d.Outcome, d.ShouldRespond = conversation.Pending, true
	if in.Addressed {
		d.Source, d.Reason = "addressed", addressedReason
	}
	switch {
	case in.Occasion.Promise != "":
		d.Source, d.Reason = "promise", promiseReason
	case in.Occasion.Step != "":
		d.Reason = occasionReason
	case in.Stop != conversation.NoStop:
		d.Reason = stopReason
	case in.Notice:
		d.Reason = noticeReason
	}
	return d
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

// judged reports whether nothing but a judgment wanted the reply.
func (in ComposeInput) judged() bool { return !in.Addressed && !in.Notice && !in.Ordered }

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
	case in.Addressed && !in.hasOccasion():
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
