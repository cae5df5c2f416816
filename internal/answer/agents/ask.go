package agents

import (
	"context"
	"errors"
	"slices"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/internal/store"
)

// Attempt says for which decision a model is asked, and in which attempt of the caller. With the
// zero value calls are saved but not counted.
type Attempt struct {
	// Decision is the decision's key in the ledger. Ask counts the calls made for it.
	Decision string
	// Number is 1 for the caller's first attempt.
	Number int
	// Saved is how many answers for the decision were saved: they are no lost ones.
	Saved int
	// LeavesFiles is set if an earlier attempt never ended: a file that it read may be the cause.
	LeavesFiles bool
}

// Answer is what a model answered.
type Answer struct {
	llm.Response // its Usage adds up all calls
	// Latency is the time from the question to the answer, all calls included.
	Latency time.Duration
}

// FinalError is a failure that no further attempt can fix: a broken template, an unreadable
// verdict, or a model that was asked often enough.
type FinalError struct{ Err error }

func (e *FinalError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *FinalError) Unwrap() error { return e.Err }

// A caller may ask again until the model has failed this often, or this long, for one decision.
// With Temporal's pauses that takes about ten minutes, or longer if the provider asks for longer
// pauses. Failures of the database or of Slack do not count as the model's.
const (
	maxFailures    = 45
	maxFailingTime = 9 * time.Minute // five calls that time out reach it
	// maxEmptyAnswers bounds the empty answers. Each costs as much as a full one.
	maxEmptyAnswers = 3
	// maxUnsavedAnswers bounds the paid answers that are lost because they could not be saved.
	maxUnsavedAnswers = 10
)

// Ask asks a model. It ends early enough to save the call before the context's deadline. From the
// second attempt on it asks only if calls can be saved, and returns a FinalError once the
// model was asked often enough.
func (ag *Agents) Ask(ctx context.Context, q Question, a Attempt) (Answer, error) {
	_, answer, err := ag.ask(ctx, q, a)
	return answer, err
}

// ask is Ask. It also returns the question that was asked in the end, perhaps of the fallback.
func (ag *Agents) ask(ctx context.Context, q Question, a Attempt) (Question, Answer, error) {
	began := ag.Clock()
	asked, response, err := ag.askWithinLimits(ctx, q, a)
	return asked, Answer{Response: response, Latency: ag.Clock().Sub(began)}, err
}

func (ag *Agents) askWithinLimits(ctx context.Context, q Question, a Attempt) (Question, llm.Response, error) {
	q.decision = a.Decision
	if a.Decision != "" && a.Number > 1 {
		if err := ag.Store.CheckCalls(ctx); err != nil {
			return q, llm.Response{}, err
		}
		calls, err := ag.Store.CallSummaries(ctx, a.Decision, q.Purpose)
		if err != nil {
			return q, llm.Response{}, err
		}
		if exhausted(calls, a.Saved) {
			return q, llm.Response{}, &FinalError{errors.New("the model has failed too often, or its answers could " +
				"not be kept")}
		}
	}
	asking, cancel := ctx, context.CancelFunc(func() {})
	if end, ok := ctx.Deadline(); ok {
		asking, cancel = context.WithDeadline(ctx, end.Add(-saveCallTimeout))
	}
	defer cancel()
	q, response, err := ag.askEither(asking, q, ag.askWithFiles)
	if a.Decision == "" || !mayPass(err) {
		return q, response, err
	}
	if calls, unknown := ag.Store.CallSummaries(ctx, a.Decision, q.Purpose); unknown == nil &&
		exhausted(calls, a.Saved) {
		err = &FinalError{err}
	}
	return q, response, err
}

// askWithFiles asks once more without the question's files if the model refuses it with them.
func (ag *Agents) askWithFiles(ctx context.Context, q Question) (llm.Response, error) {
	response, err := ag.askWithTokens(ctx, q)
	if refused, ok := errors.AsType[*llm.Error](err); ok && errors.Is(err, llm.ErrInvalid) && refused.Refused() &&
		q.ShowsFiles() {
		// A file may be the cause. What a model takes none of, its adapter knows.
		ag.Logger.WarnContext(ctx, "the model refuses the question; asking without its files", "conversation",
			chat.Conversation(q.scope).ID(), "model", q.Model, "error_kind", llm.KindOf(err))
		bare, names := q.withoutFiles()
		response, err = ag.askWithTokens(ctx, bare)
		response.WithoutFiles = names
	}
	return response, err
}

// exhausted reports whether a model was asked often enough for one decision, of whose answers some were
// kept. Cancelled calls are not failures of the model.
func exhausted(calls []store.CallSummary, saved int) bool {
	failures, took := 0, time.Duration(0)
	for _, c := range calls {
		switch {
		case c.Error == "" && c.Calls-saved >= maxUnsavedAnswers, c.Error == llm.KindOf(llm.ErrEmpty) &&
			c.Calls >= maxEmptyAnswers:
			return true
		case c.Error != "" && c.Error != llm.KindOf(context.Canceled):
			failures, took = failures+c.Calls, took+c.Took
		}
	}
	return failures >= maxFailures || took >= maxFailingTime
}

// modelUse is what a model is used for.
type modelUse struct {
	provider       config.Provider
	model, purpose string
}

// thoughtsShare: if thoughts took at least a fourth of the token limit, they are why an answer was
// cut. Otherwise the answer was too long.
const thoughtsShare = 4

// askWithTokens asks once more with more tokens if the model's thoughts left too few for its
// answer, because they would do so each time. From then on that model gets more tokens at once
// for the same purpose. The usage adds up both calls. If the second call fails, the
// beginning of the first answer is returned.
func (ag *Agents) askWithTokens(ctx context.Context, q Question) (llm.Response, error) {
	more, use := q.withMoreTokens(), modelUse{q.agent.Provider, q.Model, q.Purpose}
	if _, known := ag.needsMoreTokens.Load(use); known {
		return ag.askWithinWindow(ctx, more)
	}
	answer, err := ag.askWithinWindow(ctx, q)
	if !errors.Is(err, llm.ErrCut) || more.MaxOutputTokens <= q.MaxOutputTokens {
		return answer, err
	}
	begun := prompt.Visible(answer.Text)
	if begun && thoughtsShare*answer.Usage.Thoughts < q.MaxOutputTokens {
		return answer, err
	}
	ag.needsMoreTokens.Store(use, true)
	whole, failure := ag.askWithinWindow(ctx, more)
	used := answer.Usage.Add(whole.Usage)
	if !begun || failure == nil || errors.Is(failure, llm.ErrCut) {
		answer, err = whole, failure
	}
	answer.Usage = used
	return answer, err
}

// windowLimits are the numbers of characters of messages to try, in this order, if a model's window
// turns out to be too small.
var windowLimits = []int{40_000, 12_000, 4_000}

// askWithinWindow asks with fewer messages if the prompt exceeds the model's window. Providers
// do not charge for a call that they refuse for that reason.
func (ag *Agents) askWithinWindow(ctx context.Context, q Question) (llm.Response, error) {
	answer, err := ag.call(ctx, q)
	for _, characters := range windowLimits {
		var refused *llm.Error
		if q.limited == nil || !errors.As(err, &refused) || !refused.TooLong {
			break
		}
		less, failure := q.limited(characters)
		if failure != nil || less.System == q.System && slices.Equal(less.Said, q.Said) {
			continue
		}
		ag.Logger.WarnContext(ctx, "prompt exceeds the model's window; asking with fewer messages",
			"conversation", chat.Conversation(q.scope).ID(), "purpose", q.Purpose, "model", q.Model, "bytes",
			len(q.System), "then", len(less.System))
		q.System, q.Said, q.Prompt = less.System, less.Said, less.Prompt
		answer, err = ag.call(ctx, q)
	}
	return answer, err
}
