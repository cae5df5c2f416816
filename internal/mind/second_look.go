package mind

import (
	"context"
	"errors"
	"fmt"
	"time"

	"myao/internal/chat"
	"myao/internal/llm"
)

// SecondLook asks whether a written reply should still be posted.
type SecondLook struct {
	Conversation chat.Conversation
	// Trigger is the ts of the message that the draft answers.
	Trigger string
	Draft   string
	// Judged is when the judgment read: the prompt marks what people sent after that.
	Judged time.Time
}

// secondLookSchema has the reason first, so that the model decides after it has said why.
var secondLookSchema = &llm.Schema{Name: "second_look", Properties: []llm.Property{
	{Name: "reason", Type: llm.String, Description: "one short line: what decided it"},
	{Name: "post", Type: llm.Boolean, Description: "true to post the draft, false to stay silent"},
}}

// LookAgain reads the context afresh and asks the judge. If the answer cannot be read it asks once
// more, as Judge does. A second unreadable answer is a FinalError.
func (m *Mind) LookAgain(ctx context.Context, l SecondLook, a Attempt) (chat.SecondLook, error) {
	r, _, err := m.recall(ctx, l.Conversation, false)
	if err != nil {
		return chat.SecondLook{}, err
	}
	agent := m.Agents.Judgment
	o := m.options(agent, r)
	o.AnswerTS, o.Draft = l.Trigger, l.Draft
	for _, said := range r.Conversation.All() {
		if !said.ByBot() && said.Time().After(l.Judged) {
			o.Pending = append(o.Pending, said.TS)
		}
	}
	fault, cut := "", false
	for range 2 {
		o.Fault = fault
		q, err := newLimitedQuestion(agent, chat.Scope(l.Conversation), func(characters int) (llm.Request, error) {
			o.MaxCharacters = characters
			system, user, err := m.Prompts.SecondLook(r.Context, o)
			return llm.Request{Purpose: llm.PurposeJudgment, System: system, Prompt: user, Schema: secondLookSchema}, err
		})
		if err != nil {
			return chat.SecondLook{}, err
		}
		if cut {
			q = q.withMoreTokens()
		}
		answer, err := m.Ask(ctx, q, a)
		if cut = errors.Is(err, llm.ErrCut); err != nil && !cut {
			return chat.SecondLook{}, err
		}
		look, err := chat.ParseSecondLook(answer.Text)
		if err == nil {
			return look, nil
		}
		if fault = err.Error(); cut {
			fault = "it was cut at max_output_tokens, before its end; one short line of reason is enough"
		}
	}
	return chat.SecondLook{}, &FinalError{fmt.Errorf("the model's second look cannot be read: %s", fault)}
}
