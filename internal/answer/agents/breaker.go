package agents

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"myao/internal/llm"
)

const (
	// failingTime is for how long a model may keep failing before its fallback takes over. A failure that
	// comes more than failureGap after the one before begins that time anew.
	failingTime = time.Minute
	failureGap  = 2 * time.Minute
	// retryTime is how long the fallback is asked before the model is tried again.
	retryTime = time.Minute
)

// outcome is what the end of a call says about its model.
type outcome int

const (
	unclear outcome = iota // nothing
	working
	failing // another call may succeed soon
	broken  // none will
)

// outcomeOf is what a call of a model says about it. tools is set if the call offered any: some servers
// refuse them like an unknown model.
func outcomeOf(err error, tools bool) outcome {
	if err == nil {
		return working
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || errors.Is(err, context.Canceled) {
		return unclear
	}
	switch e.Kind {
	case llm.ErrAuth, llm.ErrQuota:
		return broken
	case llm.ErrInvalid:
		if e.Status == http.StatusNotFound && !tools {
			return broken
		}
		return unclear
	case llm.ErrBlocked, llm.ErrCut:
		return working
	}
	if e.RetryAfter > failingTime {
		return broken
	}
	return failing
}

// breaker decides which of an agent's two models is asked. It is closed as long as the first one is. It opens
// when that is broken, or has kept failing for failingTime: then the fallback is asked. After retryTime one
// question at a time tries the first one, and closes the breaker if it works. The zero value is closed.
type breaker struct {
	open bool
	// since is when the first model began to keep failing, latest is when it last failed, and worked is when
	// it last worked.
	since, latest, worked time.Time
	// retry is when an open breaker lets the next question try the first model.
	retry  time.Time
	trying bool
	// cause is the latest failure.
	cause error
}

// attempt is a question put to the first model.
type attempt struct {
	began time.Time
	// trial is set if the breaker was open.
	trial bool
}

// begin reports whether the first model is to be asked now. If so, end must follow.
func (b *breaker) begin(now time.Time) (a attempt, first bool) {
	if b.open && (b.trying || now.Before(b.retry)) {
		return attempt{}, false
	}
	b.trying = b.open
	return attempt{began: now, trial: b.open}, true
}

// end records how an attempt ended. It reports whether the breaker has opened or closed.
func (b *breaker) end(now time.Time, a attempt, is outcome, cause error) (changed bool) {
	if a.trial {
		b.trying = false
	}
	was := b.open
	switch is {
	case unclear:
	case working:
		*b = breaker{worked: now}
	default:
		if b.since.IsZero() || a.began.Sub(b.latest) > failureGap {
			b.since = a.began
			if b.worked.After(b.since) { // other questions were answered meanwhile
				b.since = b.worked
			}
		}
		b.latest, b.cause = now, cause
		if b.open = b.open || is == broken || now.Sub(b.since) >= failingTime; b.open {
			b.retry = now.Add(retryTime)
		}
	}
	return b.open != was
}

// breakers are those of all models that have a fallback. They are in memory: each worker finds out for itself.
type breakers struct {
	mu  sync.Mutex
	all map[modelUse]*breaker
}

// with calls a function with the breaker of a use.
func (bs *breakers) with(use modelUse, do func(b *breaker)) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if bs.all == nil {
		bs.all = map[modelUse]*breaker{}
	}
	if bs.all[use] == nil {
		bs.all[use] = &breaker{}
	}
	do(bs.all[use])
}
