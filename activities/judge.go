package activities

import (
	"context"
	"encoding/json"
	"fmt"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/failpoint"
	"myao/internal/store"
)

// JudgeInput asks for the verdict on a conversation.
type JudgeInput struct {
	Task
	MaxDelay int `json:"max_delay"` // seconds
	// Pending are the ts of all messages that are judged, in order of time. Activities scheduled by
	// older workers lack it: then the trigger alone is judged.
	Pending []string `json:"pending,omitempty"`
}

// JudgeOutput is a verdict and, if no model was asked, the rule that made it. Gone is set if the
// rule was that the message no longer exists, which says nothing about the other waiting messages.
// A separate field, because older recorded histories carry the rule but continued differently.
type JudgeOutput struct {
	Verdict chat.Verdict      `json:"verdict"`
	Rule    conversation.Rule `json:"rule,omitempty"`
	Gone    bool              `json:"gone,omitempty"`
}

// Judge decides whether to reply: by rules first, then by mind.Judge. It saves the decision in the
// ledger.
func (a *Activities) Judge(ctx context.Context, in JudgeInput) (JudgeOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	out, err := a.judge(ctx, in)
	if err != nil {
		return JudgeOutput{}, classify(fmt.Errorf("judge: %w", err))
	}
	return out, nil
}

func (a *Activities) judge(ctx context.Context, in JudgeInput) (JudgeOutput, error) {
	known, err := a.readFacts(ctx, in.Task, store.FactsRequest{Pending: in.Pending})
	if err != nil {
		return JudgeOutput{}, err
	}
	if d := known.Decision; d != nil && d.HasVerdict() {
		return decidedOutput(*d), nil
	}
	facts, err := a.ruleFacts(ctx, known)
	if err != nil {
		return JudgeOutput{}, err
	}
	if rule := facts.JudgmentRule(); rule != conversation.NoRule {
		d := in.decisionRow("rule")
		d.Rule, d.Reason, d.Outcome = string(rule), rule.Reason(), conversation.Silent
		v := chat.Verdict{Reason: rule.Reason(), Confidence: 1}
		if err := a.Store.Decide(ctx, d); err != nil {
			return JudgeOutput{}, err
		}
		a.Metrics.judged(v, rule)
		return ruleOutput(v, rule), nil
	}
	d := in.decisionRow("judgment")
	d.ReadUS = a.Clock().UnixMicro()
	pending := in.Pending
	if len(pending) == 0 {
		pending = []string{in.Trigger}
	}
	judgment, err := a.Mind.Judgment(ctx, in.Conversation, pending, in.MaxDelay)
	if err != nil {
		return JudgeOutput{}, err
	}
	v, answer, err := a.Mind.Judge(ctx, judgment, attemptOf(ctx, in.Task))
	if err != nil {
		return JudgeOutput{}, err
	}
	setCost(&d, answer)
	d.Wanted, d.MinConfidence, d.Prompt = v.ShouldRespond, known.settings.MinConfidence, a.Mind.Prompts.JudgmentFingerprint()
	if d.Signals, err = encode(judgment.Signals); err != nil {
		return JudgeOutput{}, err
	}
	rule := conversation.NoRule
	if v.ShouldRespond && v.Confidence < d.MinConfidence {
		rule, v.ShouldRespond, v.DelaySeconds = conversation.RuleLowConfidence, false, nil
	}
	d.ShouldRespond, d.Reason, d.Confidence, d.DelaySeconds = v.ShouldRespond, v.Reason, &v.Confidence, v.DelaySeconds
	d.Rule, d.Outcome = string(rule), conversation.Silent
	if v.ShouldRespond {
		d.Outcome = conversation.Pending
	}
	failpoint.Here("judge: answered")
	if err := a.Store.Decide(ctx, d); err != nil {
		return JudgeOutput{}, err
	}
	failpoint.Here("judge: decided")
	a.Metrics.judged(v, rule)
	delay := 0
	if v.DelaySeconds != nil {
		delay = *v.DelaySeconds
	}
	a.Logger.InfoContext(ctx, "judged", "conversation", in.Conversation.ID(), "trigger", in.Trigger,
		"should_respond", v.ShouldRespond, "confidence", v.Confidence, "delay_seconds", delay, "reason", v.Reason, "rule", rule)
	return ruleOutput(v, rule), nil
}

// encode is the JSON of signals.
func encode(s conversation.Signals) (string, error) {
	body, err := json.Marshal(s)
	return string(body), err
}

// decidedOutput returns the decision of an earlier attempt whose result was lost, or of the time before
// the workflow was reset. What the ledger says is what happens.
func decidedOutput(d store.Decision) JudgeOutput {
	v := chat.Verdict{ShouldRespond: d.ShouldRespond, Reason: d.Reason, Confidence: 1, DelaySeconds: d.DelaySeconds}
	if d.Confidence != nil {
		v.Confidence = *d.Confidence
	}
	return ruleOutput(v, conversation.Rule(d.Rule))
}

func ruleOutput(v chat.Verdict, rule conversation.Rule) JudgeOutput {
	return JudgeOutput{Verdict: v, Rule: rule, Gone: rule == conversation.RuleNothingLeft}
}
