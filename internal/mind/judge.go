package mind

import (
	"context"
	"errors"
	"fmt"
	"math"

	"myao/internal/chat"
	"myao/internal/llm"
	"myao/internal/recall"
)

// Judgment is the question whether to speak.
type Judgment struct {
	mind     *Mind
	scope    chat.Scope
	read     recall.Recollection
	maxDelay int
}

// Judgment reads what there is to judge by; maxDelay, in seconds, is the longest delay that may be chosen.
func (m *Mind) Judgment(ctx context.Context, c chat.Conversation, maxDelay int) (Judgment, error) {
	r, _, err := m.recall(ctx, c, false)
	return Judgment{mind: m, scope: chat.Scope(c), read: r, maxDelay: maxDelay}, err
}

// Question is what is asked; fault says why the last answer could not be read, or is empty.
func (j Judgment) Question(fault string) (Question, error) {
	agent := j.mind.Agents.Judgment
	o := j.mind.options(agent, j.read)
	o.MaxDelaySeconds, o.Fault = j.maxDelay, fault
	return newLimitedQuestion(agent, j.scope, func(characters int) (llm.Request, error) {
		o.MaxCharacters = characters
		system, user, err := j.mind.Prompts.Judgment(j.read.Context, o)
		return llm.Request{Purpose: llm.PurposeJudgment, System: system, Prompt: user, Schema: llm.VerdictSchema(j.maxDelay)}, err
	})
}

// anyDelay accepts every delay.
const anyDelay = math.MaxInt32

// Judge asks for a verdict. An answer that cannot be read is asked for once more with the fault
// told, and with more tokens if it was cut; if the second cannot be read either, the error is a
// FinalError. A model that insists on too long a delay gets the longest allowed one, because
// it is clear that it wants to speak. The answer holds the usage and latency of all calls.
func (m *Mind) Judge(ctx context.Context, j Judgment, a Attempt) (chat.Verdict, Answer, error) {
	began, all := m.Clock(), Answer{}
	fault, cut := "", false
	for _, longest := range []int{j.maxDelay, anyDelay} {
		q, err := j.Question(fault)
		if err != nil {
			return chat.Verdict{}, all, err
		}
		if cut {
			q = q.withMoreTokens()
		}
		answer, err := m.Ask(ctx, q, a)
		answer.Usage = all.Usage.Plus(answer.Usage)
		all = Answer{Response: answer.Response, Latency: m.Clock().Sub(began)}
		cut = errors.Is(err, llm.ErrCut)
		if err != nil && !cut {
			return chat.Verdict{}, all, err
		}
		v, err := chat.ParseVerdict(answer.Text, longest)
		if err == nil {
			if v.DelaySeconds != nil {
				*v.DelaySeconds = min(*v.DelaySeconds, j.maxDelay)
			}
			return v, all, nil
		}
		if fault = err.Error(); cut {
			fault = "it was cut at max_output_tokens, before its end; one short line of reason is enough"
		}
	}
	return chat.Verdict{}, all, &FinalError{fmt.Errorf("the model's verdict cannot be read: %s", fault)}
}
