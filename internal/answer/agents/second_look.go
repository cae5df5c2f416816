package agents

import (
	"context"
	"errors"
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

// AskSecondLook reads the context afresh and asks the judge, by askReadable.
func (ag *Agents) AskSecondLook(ctx context.Context, l SecondLook, a Attempt) (chat.SecondLook, error) {
	r, settings, err := ag.recall(ctx, l.Conversation, false, "")
	if err != nil {
		return chat.SecondLook{}, err
	}
	agent := ag.ByUse.Judgment
	o := ag.options(agent, r)
	o.AnswerTS, o.Draft = l.Trigger, l.Draft
	for _, said := range r.Conversation.All() {
		if !said.ByBot() && said.Time().After(l.Judged) {
			o.Pending = append(o.Pending, said.TS)
		}
	}
	question := func(fault string) (Question, error) {
		o.Fault = fault
		return newLimitedQuestion(agent, chat.Scope(l.Conversation), func(a Agent, characters int) (llm.Request,
			error) {
			o.AgentPrompt, o.MaxCharacters = a.SystemPrompt, characters
			system, user, err := ag.In(settings.Language).SecondLook(r.Context, o)
			return llm.Request{Purpose: llm.PurposeJudgment, System: system, Prompt: user, Schema: secondLookSchema},
				err
		})
	}
	var look chat.SecondLook
	_, err = ag.askReadable(ctx, "second look", question, a, func(answer string) (err error) {
		look, err = chat.ParseSecondLook(answer)
		return errors.Join(err, readable(look.Reason))
	})
	if err != nil {
		return chat.SecondLook{}, err
	}
	return look, nil
}
