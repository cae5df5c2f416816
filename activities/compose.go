package activities

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"myao/internal/conversation"
	"myao/internal/failpoint"
	"myao/internal/llm"
	"myao/internal/prompt"
	"myao/internal/slack"
	"myao/internal/store"
)

// ComposeInput asks for the text of a reply.
type ComposeInput struct {
	Task
	Addressed bool `json:"addressed,omitempty"`
	// Notice asks for the note that the bot cannot answer, instead of an answer.
	Notice bool `json:"notice,omitempty"`
	// Ordered is set where an operator wants the reply.
	Ordered bool `json:"ordered,omitempty"`
	// Oldest is the ts of the oldest message that the reply is about: it is outdated where
	// somebody has answered in a thread under that or a later one since the judgment.
	// Empty: that does not matter.
	Oldest string `json:"oldest,omitempty"`
}

// addressedReason is the ledger's reason for a reply that needs no judgment.
const addressedReason = "somebody addressed the bot"

// noticeReason is the ledger's reason for a note that there is no answer.
const noticeReason = "no answer could be had, and the bot says so"

// ReplyOutput says how composing or posting a reply ended.
type ReplyOutput struct {
	Result conversation.Result `json:"result"`
	// By is the ts of the message by which a reply that was not composed yet is outdated.
	By string `json:"by,omitempty"`
}

// Compose writes a reply to the outbox, from a context that it reads itself. A
// reply that is already being posted stays as it is, and so does one that an attempt
// of this decision has composed: the model is not paid again.
func (a *Activities) Compose(ctx context.Context, in ComposeInput) (ReplyOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	result, by, err := a.composeReply(ctx, in)
	if err != nil {
		return ReplyOutput{}, classify(fmt.Errorf("compose: %w", err))
	}
	return ReplyOutput{Result: result, By: by}, nil
}

func (a *Activities) composeReply(ctx context.Context, in ComposeInput) (result conversation.Result, by string, err error) {
	known, err := a.look(ctx, in.Task, store.FactsRequest{Oldest: in.Oldest, Held: !in.Addressed})
	if err != nil || known.Begun {
		return conversation.Done, "", err
	}
	facts, err := a.facts(ctx, known)
	if err != nil {
		return "", "", err
	}
	if facts.UnknownOutcome, err = a.predatesLedger(ctx, in.Task); err != nil {
		return "", "", err
	}
	d := in.decisionRow("operator")
	d.Outcome, d.ShouldRespond = conversation.Pending, true
	if in.Addressed {
		d.Source, d.Reason = "addressed", addressedReason
	}
	if in.Notice {
		d.Reason = noticeReason
	}
	if known.Trigger != nil && known.Trigger.Deleted {
		return conversation.Gone, "", nil
	}
	composed := known.ComposedBy == d.Key
	if composed {
		facts.OverBudget = false // it is paid for
	}
	if rule := in.silenceRule(facts); rule != conversation.NoRule {
		d.ShouldRespond, d.Rule, d.Reason, d.Outcome = false, string(rule), rule.Reason(), conversation.Silent
		if err := a.Store.Decide(ctx, d); err != nil {
			return "", "", err
		}
		return conversation.Silenced, "", a.Store.Settle(ctx, d.Key, conversation.Silent, string(rule))
	}
	if composed {
		return conversation.Done, "", nil
	}
	if known.NewThreadReply != "" {
		return conversation.Outdated, known.NewThreadReply, nil
	}
	text, read := "", a.Clock()
	saw := read
	switch {
	case in.Notice:
		text = a.Mind.Prompts.Notice(prompt.Unanswered)
	case facts.OverBudget:
		text = a.Mind.Prompts.Notice(prompt.OverBudget)
		d.Rule, d.Reason = string(conversation.RuleOverBudget), conversation.RuleOverBudget.Reason()
	default:
		if text, saw, err = a.write(ctx, in, &d); err != nil {
			return "", "", err
		}
	}
	failpoint.Here("compose: model answered")
	// A judged reply has its row in the ledger since the judgment; this leaves it alone.
	if err := a.Store.Compose(ctx, a.parts(in.Task, text, saw, read), d); err != nil && !errors.Is(err, store.ErrUnderWay) {
		return "", "", err
	}
	failpoint.Here("compose: written")
	return conversation.Done, "", nil
}

// silenceRule is the rule by which nothing is said. Somebody who addresses the bot is
// answered in quiet hours, too, and told where the budget is used up. An operator's
// order goes before quiet hours and a silence that is over, but is not worth more than the budget.
func (in ComposeInput) silenceRule(facts conversation.Facts) conversation.Rule {
	if in.Addressed || in.Notice {
		return facts.AddressedRule()
	}
	if in.Ordered {
		facts.Quiet, facts.Silenced = false, false
	}
	return facts.UnsolicitedRule()
}

// write has the model write the reply.
func (a *Activities) write(ctx context.Context, in ComposeInput, d *store.Decision) (text string, saw time.Time, err error) {
	q, err := a.Mind.ReplyQuestion(ctx, in.Conversation, in.Trigger, in.Addressed)
	if err != nil {
		return "", time.Time{}, err
	}
	answer, err := a.Mind.Ask(ctx, q.Question, attemptOf(ctx, in.Task))
	charge(d, answer)
	text = answer.Text
	if cut, ok := errors.AsType[*llm.Error](err); ok && errors.Is(err, llm.ErrCut) && prompt.Visible(cut.Text) {
		// The model ran into its limit of tokens: most of an answer, and the mark of its end, is an answer.
		text, err = strings.TrimSpace(cut.Text)+" …", nil
	}
	return prompt.SafeReply(text, q.System, a.Mind.Recall.Persona), q.Saw, err
}

// parts cuts a reply into messages that Slack takes. Its author read up to saw, beginning at read.
func (a *Activities) parts(t Task, text string, saw, read time.Time) []store.Part {
	var parts []store.Part
	for i, piece := range slack.Split(text, slack.DefaultLimit) {
		parts = append(parts, store.Part{
			Key: t.replyKey() + "/" + strconv.Itoa(i), Reply: t.replyKey(), Number: i,
			Team: t.Conversation.Team, Channel: t.Conversation.Channel, Thread: t.Conversation.Thread,
			Trigger: t.Trigger, Text: piece, Saw: saw, Read: read, Decision: t.decisionKey(), Epoch: t.Epoch,
		})
	}
	return parts
}
