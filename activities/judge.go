package activities

import (
	"context"
	"errors"
	"fmt"
	"math"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/failpoint"
	"myao/internal/llm"
	"myao/internal/store"
)

// JudgeInput asks for the verdict on a conversation.
type JudgeInput struct {
	Task
	MaxDelay int `json:"max_delay"` // seconds
}

// JudgeOutput is a verdict; the rule that made it, where no model was asked. Gone is set
// where that rule was that the message is no longer there: it says nothing of what else waits.
// It is not left to be seen by the rule, which stands in histories of before that went on otherwise.
type JudgeOutput struct {
	Verdict chat.Verdict      `json:"verdict"`
	Rule    conversation.Rule `json:"rule,omitempty"`
	Gone    bool              `json:"gone,omitempty"`
}

// Judge says whether to speak: by rules first, then by the model. The decision
// goes into the ledger. An answer that cannot be read is asked for once more
// with the fault told; a second one is a final error.
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
	known, err := a.look(ctx, in.Task, store.Matter{})
	if err != nil {
		return JudgeOutput{}, err
	}
	if d := known.Decision; d != nil && d.Taken() {
		return decided(*d), nil
	}
	facts, err := a.facts(ctx, known)
	if err != nil {
		return JudgeOutput{}, err
	}
	if rule := facts.JudgmentRule(); rule != conversation.NoRule {
		d := in.row("rule")
		d.Rule, d.Reason, d.Outcome = string(rule), rule.Reason(), conversation.Silent
		v := chat.Verdict{Reason: rule.Reason(), Confidence: 1}
		if err := a.Store.Decide(ctx, d); err != nil {
			return JudgeOutput{}, err
		}
		a.Metrics.judged(v, rule)
		return ruled(v, rule), nil
	}
	d := in.row("judgment")
	v, err := a.verdict(ctx, in, &d)
	if err != nil {
		return JudgeOutput{}, err
	}
	d.ShouldRespond, d.Reason, d.Confidence, d.DelaySeconds = v.ShouldRespond, v.Reason, &v.Confidence, v.DelaySeconds
	d.Outcome = conversation.Silent
	if v.ShouldRespond {
		d.Outcome = conversation.Pending
	}
	failpoint.Here("judge: answered")
	if err := a.Store.Decide(ctx, d); err != nil {
		return JudgeOutput{}, err
	}
	failpoint.Here("judge: decided")
	a.Metrics.judged(v, conversation.NoRule)
	a.Logger.InfoContext(ctx, "judged", "conversation", in.Conversation.ID(), "trigger", in.Trigger,
		"should_respond", v.ShouldRespond, "confidence", v.Confidence)
	return JudgeOutput{Verdict: v}, nil
}

// decided is what an attempt before this one has written down before it was lost,
// or what was decided before the workflow was reset: what the ledger says is what
// happens.
func decided(d store.Decision) JudgeOutput {
	v := chat.Verdict{ShouldRespond: d.ShouldRespond, Reason: d.Reason, Confidence: 1, DelaySeconds: d.DelaySeconds}
	if d.Confidence != nil {
		v.Confidence = *d.Confidence
	}
	return ruled(v, conversation.Rule(d.Rule))
}

func ruled(v chat.Verdict, rule conversation.Rule) JudgeOutput {
	return JudgeOutput{Verdict: v, Rule: rule, Gone: rule == conversation.RuleNothingLeft}
}

// verdict asks the model, and writes into d what that cost.
func (a *Activities) verdict(ctx context.Context, in JudgeInput, d *store.Decision) (chat.Verdict, error) {
	d.ReadUS = a.Clock().UnixMicro()
	judgment, err := a.Mind.Judgment(ctx, in.Conversation, in.MaxDelay)
	if err != nil {
		return chat.Verdict{}, err
	}
	began, fault, cut := a.Clock(), "", false
	for _, most := range []int{in.MaxDelay, anyDelay} {
		q, err := judgment.Question(fault)
		if err != nil {
			return chat.Verdict{}, err
		}
		if cut {
			q = q.WithRoom()
		}
		answer, err := a.ask(ctx, in.Task, q)
		d.TokensIn += answer.Usage.Input
		d.TokensOut += answer.Usage.Output
		d.Model, d.LatencyUS = answer.Model, a.Clock().Sub(began).Microseconds()
		cut = errors.Is(err, llm.ErrCut)
		if err != nil && !cut {
			return chat.Verdict{}, err
		}
		v, err := chat.ParseVerdict(answer.Text, most)
		if err == nil {
			if v.DelaySeconds != nil {
				*v.DelaySeconds = min(*v.DelaySeconds, in.MaxDelay)
			}
			return v, nil
		}
		if fault = err.Error(); cut {
			fault = "it was cut at max_output_tokens, before its end; one short line of reason is enough"
		}
	}
	return chat.Verdict{}, final(fmt.Errorf("the model's verdict cannot be read: %s", fault))
}

// anyDelay takes what a model insists on, when it is asked again, for the longest
// delay that is allowed: that it wants to speak is clear enough.
const anyDelay = math.MaxInt32
