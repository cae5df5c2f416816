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
	// Notice asks for the note that the bot cannot answer.
	Notice bool `json:"notice,omitempty"`
	// Ordered is set if an operator ordered the reply.
	Ordered bool `json:"ordered,omitempty"`
	// Oldest is the ts of the oldest message that the reply is about. The reply is outdated if
	// somebody answered in a thread under it, or under a later message, since the judgment.
	// Empty means that no reply in a thread outdates this one.
	Oldest string `json:"oldest,omitempty"`
}

// addressedReason is the ledger's reason for a reply that needs no judgment.
const addressedReason = "somebody addressed the bot"

// noticeReason is the ledger's reason for a note that the bot cannot answer.
const noticeReason = "no answer could be had, and the bot says so"

// ReplyOutput says how composing or posting a reply ended.
type ReplyOutput struct {
	Result conversation.Result `json:"result"`
	// By is the ts of the message that outdated a reply before it was composed.
	By string `json:"by,omitempty"`
}

// Compose reads the context, has a model write a reply, and puts that into the outbox. A reply that is
// being posted stays as it is. So does one that this decision has composed before: the model is
// not paid twice. A judged reply may get a second look first.
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
	known, err := a.readFacts(ctx, in.Task, store.FactsRequest{Oldest: in.Oldest, Held: !in.Addressed})
	if err != nil || known.Begun {
		return conversation.Done, "", err
	}
	if in.tookBack(known.Decision) {
		return conversation.Silenced, "", nil
	}
	facts, err := a.ruleFacts(ctx, known)
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
		facts.OverBudget = false // the reply is paid for
	}
	if rule := in.silenceRule(facts); rule != conversation.NoRule {
		d.ShouldRespond, d.Rule, d.Reason, d.Outcome = false, string(rule), facts.Reason(rule), conversation.Silent
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
		if text, saw, err = a.writeReply(ctx, in, &d); err != nil {
			return "", "", err
		}
		if wanted, err := a.stillWanted(ctx, in, known.Decision, text); err != nil || !wanted {
			return conversation.Silenced, "", err
		}
	}
	failpoint.Here("compose: model answered")
	// Compose keeps an existing row: that of a judged reply.
	if err := a.Store.Compose(ctx, a.parts(in.Task, text, saw, read), d); err != nil && !errors.Is(err, store.ErrUnderWay) {
		return "", "", err
	}
	failpoint.Here("compose: written")
	return conversation.Done, "", nil
}

// silenceRule returns the rule that forbids a reply, or NoRule. Whoever addresses the bot is answered in
// quiet hours, and gets a note if the budget is used up. An operator's order overrides quiet hours
// and a silence that has ended, but not the budget.
func (in ComposeInput) silenceRule(facts conversation.Facts) conversation.Rule {
	if in.Addressed || in.Notice {
		return facts.AddressedRule()
	}
	if in.Ordered {
		facts.Quiet, facts.Silenced = false, false
	} else if facts.Mode == conversation.ModeMention { // since the judgment; no new message withdraws the reply
		return conversation.RuleModeMention
	}
	return facts.UnsolicitedRule()
}

// channelWait is how long Slack may take to say who can read a channel.
const channelWait = 2 * time.Second

// writeReply asks the model for the reply. Nobody waits for an unsolicited reply, so Slack is first
// asked whether the channel was made private or shared; if it does not answer, its last answer counts.
// saw is the time of the newest message that it read.
func (a *Activities) writeReply(ctx context.Context, in ComposeInput, d *store.Decision) (text string, saw time.Time, err error) {
	if !in.Addressed && !in.Conversation.Direct() {
		_, _ = a.Directory.Refresh(ctx, in.Conversation.Team, in.Conversation.Channel, channelWait) // which logs its error
	}
	q, err := a.Mind.ReplyQuestion(ctx, in.Conversation, in.Trigger, in.Addressed)
	if err != nil {
		return "", time.Time{}, err
	}
	answer, err := a.Mind.Ask(ctx, q.Question, attemptOf(ctx, in.Task))
	setCost(d, answer)
	text = answer.Text
	if cut, ok := errors.AsType[*llm.Error](err); ok && errors.Is(err, llm.ErrCut) && prompt.Visible(cut.Text) {
		// A reply cut at the token limit is posted with a mark at its end.
		text, err = strings.TrimSpace(cut.Text)+" …", nil
	}
	return prompt.SafeReply(text, q.System, a.Mind.Recall.Persona), q.Saw, err
}

// parts splits a reply into messages that Slack accepts. Its author began to read at read, and read
// messages up to saw.
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
