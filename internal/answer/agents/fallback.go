package agents

import (
	"context"
	"errors"
	"time"

	"myao/internal/llm"
)

// trialReserve is how much of the time for a question is left to the fallback when the first model is tried.
const trialReserve = time.Minute

// askEither asks the agent's model or, if its breaker is open, its fallback. A question that the model refuses
// for good goes to the fallback at once. It returns the question that was answered, or that failed. The
// answer's usage adds up both.
func (ag *Agents) askEither(
	ctx context.Context, q Question, ask func(context.Context, Question) (llm.Response, error),
) (Question, llm.Response, error) {
	if q.agent.Fallback == nil {
		answer, err := ask(ctx, q)
		return q, answer, err
	}
	use := modelUse{q.agent.Provider, q.Model, q.Purpose}
	var try attempt
	var cause error // why the fallback is asked
	first := false
	ag.breakers.with(use, func(b *breaker) {
		try, first = b.begin(ag.Clock())
		cause = b.cause
	})
	var used llm.Usage
	if first {
		answer, err := ag.tryFirst(ctx, q, try, ask)
		changed, open := false, false
		ag.breakers.with(use, func(b *breaker) {
			changed = b.end(ag.Clock(), try, outcomeOf(err, len(q.Tools) > 0), err)
			open = b.open
		})
		if changed {
			ag.tellBreaker(ctx, q, open, err)
		}
		if err == nil || ctx.Err() != nil || !open && !q.refusedForGood(err) || errors.Is(err, llm.ErrBlocked) ||
			errors.Is(err, llm.ErrCut) {
			return q, answer, err
		}
		used, cause = answer.Usage, err
	}
	second, err := q.by(*q.agent.Fallback)
	if err != nil {
		return q, llm.Response{Usage: used}, err
	}
	second.decision = q.decision
	if ag.fallbacks != nil {
		ag.fallbacks.WithLabelValues(q.Purpose).Inc()
	}
	answer, err := ask(ctx, second)
	answer.Usage = answer.Usage.Add(used)
	if mayPass(cause) && err != nil && !mayPass(err) { // the first model may be back before the fallback is
		return q, answer, cause
	}
	return second, answer, err
}

// tryFirst asks the first model, in a trial for so long that the fallback has time left.
func (ag *Agents) tryFirst(ctx context.Context, q Question, try attempt,
	ask func(context.Context, Question) (llm.Response, error)) (llm.Response, error) {
	if end, ok := ctx.Deadline(); ok && try.trial {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-trialReserve))
		defer cancel()
	}
	return ask(ctx, q)
}

// tellBreaker logs that the breaker has opened or closed.
func (ag *Agents) tellBreaker(ctx context.Context, q Question, open bool, cause error) {
	about := []any{"agent", q.Purpose, "model", q.Model, "fallback", q.agent.Fallback.Agent.Model}
	if open {
		ag.Logger.WarnContext(ctx, "the model fails; its fallback is asked from now on",
			append(about, "error_kind", llm.KindOf(cause))...)
		return
	}
	ag.Logger.InfoContext(ctx, "the model works again; its fallback is no longer asked", about...)
}

func mayPass(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && e.Retryable()
}

// refusedForGood reports whether the model will never answer the question, and nothing can be left out of it.
func (q Question) refusedForGood(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && !e.Retryable() && !errors.Is(err, context.Canceled) && !q.refusedForTools(e)
}

// refusedForTools reports whether a provider may have refused the question because of its tools, or of turns
// with them.
func (q Question) refusedForTools(e *llm.Error) bool {
	return len(q.Tools) > 0 && errors.Is(e, llm.ErrInvalid) && (!e.TooLong || len(q.Turns) > 0)
}
