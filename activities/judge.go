package activities

import (
	"context"
	"encoding/json"
	"fmt"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/runtime/failpoint"
	"myao/internal/store"
)

// JudgeInput asks for the verdict on a conversation.
type JudgeInput struct {
	Task
	MaxDelay int `json:"max_delay"` // seconds
	// Pending are the ts of all messages that are judged, in order of time; the trigger is the last.
	Pending []string `json:"pending"`
}

// JudgeOutput is a verdict and the rule, if one made it or overruled the model's.
type JudgeOutput struct {
	Verdict chat.Verdict      `json:"verdict"`
	Rule    conversation.Rule `json:"rule,omitempty"`
}

// Judge decides whether to reply: as agents.Decide does. It saves the decision in the ledger.
func (a *Activities) Judge(ctx context.Context, in JudgeInput) (JudgeOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	out, err := a.judge(ctx, in)
	if err != nil {
		return JudgeOutput{}, ended(ctx, classify(fmt.Errorf("judge: %w", err)))
	}
	return out, nil
}

func (a *Activities) judge(ctx context.Context, in JudgeInput) (JudgeOutput, error) {
	known, err := a.readKnown(ctx, in.Task, store.FactsRequest{Pending: in.Pending})
	if err != nil {
		return JudgeOutput{}, err
	}
	if d := known.Decision; d != nil && d.HasVerdict() {
		return decidedOutput(*d), nil
	}
	if err := a.checkLost(ctx, in.Task); err != nil {
		return JudgeOutput{}, err
	}
	decided, err := a.Agents.Decide(ctx, in.Conversation, in.Pending, in.MaxDelay, known, attemptOf(ctx, in.Task))
	if err != nil {
		return JudgeOutput{}, err
	}
	v, rule := decided.Verdict, decided.Rule
	if decided.Asked == nil {
		d := in.decisionRow("rule")
		d.Rule, d.Reason, d.Outcome = string(rule), v.Reason, conversation.Silent
		if err := a.Store.Decide(ctx, d); err != nil {
			return JudgeOutput{}, err
		}
		a.Metrics.judged(v, rule)
		return JudgeOutput{v, rule}, nil
	}
	d := in.decisionRow("judgment")
	d.ReadUS = decided.Asked.Read.UnixMicro()
	setCost(&d, decided.Asked.Answer)
	d.Addressee, d.Gist, d.React = v.Addressee, v.Gist, v.React
	d.Wanted, d.MinConfidence, d.Prompt = decided.Asked.Verdict.ShouldRespond, known.Settings.MinConfidence,
		a.Agents.In(known.Settings.Language).JudgmentFingerprint()
	if d.Signals, err = encode(decided.Asked.Features); err != nil {
		return JudgeOutput{}, err
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
		"should_respond", v.ShouldRespond, "confidence", v.Confidence, "delay_seconds", delay, "reason", v.Reason,
		"rule", rule)
	a.keepSnapshot(ctx, in.Task, decided.Asked)
	return JudgeOutput{v, rule}, nil
}

// encode is the JSON of features.
func encode(s conversation.Features) (string, error) {
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
	return JudgeOutput{v, conversation.Rule(d.Rule)}
}
