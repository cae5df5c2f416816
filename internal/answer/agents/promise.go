package agents

import (
	"context"
	"errors"
	"slices"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/language/phrases"
	"myao/internal/llm"
)

// PromiseCheck is the question whether a promise that is due is still to be kept.
type PromiseCheck struct {
	Conversation chat.Conversation
	// Trigger is the ts of the message that asked for it.
	Trigger string
	Promise prompt.Promise
}

// CheckPromise reads the context afresh and asks the judge, by askReadable. ShouldRespond says whether to
// keep the promise. Of one that waits for an event, the addressee says whether anybody still needs it.
func (ag *Agents) CheckPromise(ctx context.Context, c PromiseCheck, a Attempt) (v chat.Verdict, all Answer, err error) {
	r, settings, err := ag.recall(ctx, c.Conversation, true, c.Trigger)
	if err != nil {
		return chat.Verdict{}, Answer{}, err
	}
	agent := ag.ByUse.Judgment
	o := ag.options(agent, r)
	o.AnswerTS, o.Promise = c.Trigger, &c.Promise
	for _, said := range r.Target() {
		if !said.Own && said.Time().After(c.Promise.Made) && said.TS != c.Trigger {
			o.Pending = append(o.Pending, said.TS)
		}
	}
	question := func(fault string) (Question, error) {
		o.Fault = fault
		return newLimitedQuestion(agent, chat.Scope(c.Conversation), func(a Agent, characters int) (llm.Request,
			error) {
			o.AgentPrompt, o.MaxCharacters = a.SystemPrompt, characters
			system, user, err := ag.In(settings.Language).Promise(r.Context, o)
			return llm.Request{Purpose: llm.PurposeJudgment, System: system, Prompt: user,
				Schema: llm.VerdictSchema(0)}, err
		})
	}
	all, err = ag.askReadable(ctx, "verdict on a promise", question, a, func(answer string) (err error) {
		v, err = chat.ParseVerdict(answer, anyDelay)
		return errors.Join(err, readable(v.Reason))
	})
	if len(o.Pending) == 0 && c.Promise.Waits && v.Addressee == chat.AddresseeNobody {
		v.Addressee = "" // nobody has written since, so people have not settled it
	}
	v.DelaySeconds = nil
	return v, all, err
}

// Promises reports whether the model has made a promise for the reply by its tool.
func (r Reply) Promises() bool {
	return slices.ContainsFunc(r.Turns, func(t llm.Turn) bool {
		return slices.ContainsFunc(t.Results,
			func(result llm.ToolResult) bool { return result.Name == chat.ToolLookAgain && !result.Failed })
	})
}

// InVain reports whether a text of the reply promises to come back to something, although the model has
// made no promise.
func (r Reply) InVain(text string) bool { return !r.Promises() && phrases.Promises(text) }
