package agents

import (
	"context"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// Decision is whether to speak without being asked to, and what decided it.
type Decision struct {
	// Verdict is what is carried out.
	Verdict chat.Verdict
	// Rule decided it, before or after a model; NoRule if the model's verdict is carried out.
	Rule conversation.Rule
	// Asked is nil if a rule made the model unnecessary.
	Asked *Asked
}

// Asked is what a model was asked for a Decision.
type Asked struct {
	Read     time.Time // when the context was read
	Features conversation.Features
	// Judgment is the question.
	Judgment Judgment
	Answer   Answer
	// Verdict is the model's own, before min_confidence.
	Verdict chat.Verdict
}

// Decide decides about the pending messages of a conversation: by rules first, then by Judge, then by
// min_confidence. It saves nothing but the calls of the model.
func (ag *Agents) Decide(ctx context.Context, c chat.Conversation, pending []string, maxDelay int, k Known,
	a Attempt) (Decision, error) {
	inputs := k.ForRules(ag.Own.UserID)
	if rule := inputs.JudgmentRule(); rule != conversation.NoRule {
		return Decision{Verdict: chat.Verdict{Reason: inputs.Reason(rule), Confidence: 1}, Rule: rule}, nil
	}
	asked := &Asked{Read: ag.Clock()}
	judgment, err := ag.judgment(ctx, c, pending, maxDelay, !a.LeavesFiles)
	if err != nil {
		return Decision{}, err
	}
	asked.Features, judgment.Shared = judgment.Features, k.Shared
	asked.Judgment = judgment
	if asked.Verdict, asked.Answer, err = ag.Judge(ctx, judgment, a); err != nil {
		return Decision{}, err
	}
	if len(ag.Reactions()) == 0 {
		asked.Verdict.React = "" // nobody has offered it
	}
	d := Decision{Verdict: asked.Verdict, Asked: asked}
	if d.Verdict.ShouldRespond && d.Verdict.Confidence < k.Settings.MinConfidence {
		d.Rule, d.Verdict.ShouldRespond, d.Verdict.DelaySeconds = conversation.RuleLowConfidence, false, nil
	}
	return d, nil
}
