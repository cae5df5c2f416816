package mind

import (
	"context"
	"errors"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/internal/prompt"
	"myao/internal/store"
)

// This package decides alone when a model is asked again. From the inside out:
//
//   - askWithinWindow: the prompt was longer than the model's window; ask with fewer messages.
//   - askWithTokens: thoughts used up the limit of tokens; ask once more with more.
//   - Judge: the verdict could not be read; ask once more with the fault told.
//   - The caller's attempts: Ask and Remember return a FinalError when another one is pointless.
//
// Only a form of request that a server does not take is left to its adapter (llm/openai).

// Attempt says for which decision, and in which attempt of the caller, a model is asked. The zero
// value asks for no decision: such calls are written down, but not counted.
type Attempt struct {
	// Decision is the key in the ledger. Ask counts the calls that were made for it.
	Decision string
	// Number is 1 for the caller's first attempt.
	Number int
}

// Answer is what a model has answered.
type Answer struct {
	llm.Response // Usage is that of all calls it took
	// Latency is how long they took together.
	Latency time.Duration
}

// FinalError is a failure that no further attempt can mend: a broken template, a verdict that
// cannot be read, a model that was asked often enough.
type FinalError struct{ Err error }

func (e *FinalError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *FinalError) Unwrap() error { return e.Err }

// A caller may ask again until the model has failed so often for one decision, or for so long.
// With Temporal's pauses in between that is about ten minutes, or longer where the provider asks
// for longer pauses. Failures of the database or of Slack do not count. Answers that could not be
// kept do, because each has been paid for.
const (
	maxFailures    = 45
	maxFailingTime = 9 * time.Minute // five calls that time out come to it
	// maxEmptyAnswers is how many empty answers are taken for accidents. Each costs as much as a full one.
	maxEmptyAnswers = 3
	// maxLostAnswers is how many answers may get lost because they could not be kept.
	maxLostAnswers = 10
)

// Ask puts a question to its model. It ends early enough for the outcome to be written down before
// the context's deadline. From the second attempt on it asks only where a call can be written
// down, and returns a FinalError once the model was asked often enough.
func (m *Mind) Ask(ctx context.Context, q Question, a Attempt) (Answer, error) {
	began := m.Clock()
	response, err := m.ask(ctx, q, a)
	return Answer{Response: response, Latency: m.Clock().Sub(began)}, err
}

func (m *Mind) ask(ctx context.Context, q Question, a Attempt) (llm.Response, error) {
	q.decision = a.Decision
	if a.Decision != "" && a.Number > 1 {
		if err := m.Store.CheckCalls(ctx); err != nil {
			return llm.Response{}, err
		}
		tallies, err := m.Store.CallSummaries(ctx, a.Decision, q.Purpose)
		if err != nil {
			return llm.Response{}, err
		}
		if exhausted(tallies) {
			return llm.Response{}, &FinalError{errors.New("the model has failed too often, or its answers could not be kept")}
		}
	}
	call, cancel := ctx, context.CancelFunc(func() {})
	if end, ok := ctx.Deadline(); ok {
		call, cancel = context.WithDeadline(ctx, end.Add(-recordCallWithin))
	}
	defer cancel()
	response, err := m.askWithTokens(call, q)
	failure, ok := errors.AsType[*llm.Error](err)
	if a.Decision == "" || !ok || !failure.Retryable() {
		return response, err
	}
	if tallies, unknown := m.Store.CallSummaries(ctx, a.Decision, q.Purpose); unknown == nil && exhausted(tallies) {
		err = &FinalError{err}
	}
	return response, err
}

// exhausted reports whether a model was asked often enough for one decision, given how its calls
// have ended. Cancelled calls do not count.
func exhausted(tallies []store.CallSummary) bool {
	failures, took := 0, time.Duration(0)
	for _, of := range tallies {
		switch {
		case of.Error == "" && of.Calls >= maxLostAnswers, of.Error == llm.KindOf(llm.ErrEmpty) && of.Calls >= maxEmptyAnswers:
			return true
		case of.Error != "" && of.Error != llm.KindOf(context.Canceled):
			failures, took = failures+of.Calls, took+of.Took
		}
	}
	return failures >= maxFailures || took >= maxFailingTime
}

// modelUse is one use of a model.
type modelUse struct {
	provider       config.Provider
	model, purpose string
}

// thoughtsShare is the part of the limit of tokens, one in so many, from which on thoughts are
// blamed for an answer that was cut, and not the answer's length.
const thoughtsShare = 4

// askWithTokens asks once more, with more tokens, where the model's thoughts have left too few for
// its answer: they would do so each time. From then on the same model is asked with more
// tokens at once for the same purpose. The usage is that of both calls. If the second one
// fails, the beginning of the first answer is returned.
func (m *Mind) askWithTokens(ctx context.Context, q Question) (llm.Response, error) {
	more, use := q.withMoreTokens(), modelUse{q.agent.Provider, q.Model, q.Purpose}
	if _, known := m.needsMoreTokens.Load(use); known {
		return m.askWithinWindow(ctx, more)
	}
	answer, err := m.askWithinWindow(ctx, q)
	if !errors.Is(err, llm.ErrCut) || more.MaxOutputTokens <= q.MaxOutputTokens {
		return answer, err
	}
	begun := prompt.Visible(answer.Text)
	if begun && thoughtsShare*answer.Usage.Thoughts < q.MaxOutputTokens {
		return answer, err
	}
	m.needsMoreTokens.Store(use, true)
	whole, failure := m.askWithinWindow(ctx, more)
	used := answer.Usage.Plus(whole.Usage)
	if !begun || failure == nil || errors.Is(failure, llm.ErrCut) {
		answer, err = whole, failure
	}
	answer.Usage = used
	return answer, err
}

// windowLimits are the characters of messages that are shown, one limit after the other, to a
// model whose window turns out to be too small.
var windowLimits = []int{40_000, 12_000, 4_000}

// askWithinWindow asks with fewer messages where the prompt is longer than the model's window.
// A call that is refused for that costs nothing.
func (m *Mind) askWithinWindow(ctx context.Context, q Question) (llm.Response, error) {
	answer, err := m.call(ctx, q)
	for _, characters := range windowLimits {
		var refused *llm.Error
		if q.limited == nil || !errors.As(err, &refused) || !refused.TooLong {
			break
		}
		less, failure := q.limited(characters)
		if failure != nil || less.System == q.System {
			continue
		}
		m.Logger.WarnContext(ctx, "the prompt is longer than the model's window: it is asked with fewer messages",
			"conversation", chat.Conversation(q.scope).ID(), "purpose", q.Purpose, "model", q.Model, "bytes", len(q.System), "then", len(less.System))
		q.System, q.Prompt = less.System, less.Prompt
		answer, err = m.call(ctx, q)
	}
	return answer, err
}
