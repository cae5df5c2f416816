package activities

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"myao/internal/llm"
	"myao/internal/mind"
	"myao/internal/slack"
)

// An activity says that it is alive every beat. Heartbeats are also how it learns that it
// is no longer wanted.
const heartbeatInterval = 2 * time.Second

// heartbeatIntervalFor is the time between two heartbeats of an activity that may be silent for no longer
// than limit. Where that is longer than the ten seconds of most, it says so as late as the SDK
// itself would: each heartbeat costs as much as an activity.
func heartbeatIntervalFor(limit time.Duration) time.Duration {
	if limit > 10*time.Second {
		return limit * 4 / 5
	}
	return heartbeatInterval
}

// heartbeat keeps an attempt alive until stop is called. Most are over before the
// first beat, and tell the server nothing but their result.
func heartbeat(ctx context.Context) (_ context.Context, stop func()) {
	between := heartbeatInterval
	if activity.IsActivity(ctx) {
		between = heartbeatIntervalFor(activity.GetInfo(ctx).HeartbeatTimeout)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(between)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(); <-done }
}

// attemptOf says to mind for which decision, and in which attempt, an activity asks a model.
func attemptOf(ctx context.Context, t Task) mind.Attempt {
	return mind.Attempt{Decision: t.decisionKey(), Number: attemptNumber(ctx)}
}

// attemptNumber is 1 for the first attempt, and outside an activity.
func attemptNumber(ctx context.Context) int {
	if !activity.IsActivity(ctx) {
		return 1
	}
	return int(activity.GetInfo(ctx).Attempt)
}

// finalError marks an error of our own that no further attempt would mend.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

func final(err error) error { return finalError{err} }

// queuedError says that it is not an attempt's turn yet.
type queuedError struct {
	what string
	wait time.Duration
}

func (e queuedError) Error() string { return e.what + ": its turn comes in " + e.wait.String() }

// turnLead is how long before its turn an attempt is made: what it takes until a
// worker has it in hand differs, and a turn that is missed is lost.
const turnLead = 2 * time.Second

// The types that errors have in a workflow's history.
const (
	typeRateLimited = "RateLimited"
	typeQueued      = "Queued"
	typeFinal       = "Final"
	typeUnavailable = "Unavailable"
)

// maxRetryAfter is the longest time that a provider may ask to be left alone. Somebody
// waits for the answer, and everything else in the conversation behind it.
const maxRetryAfter = 10 * time.Minute

// classify tells Temporal what an error means: it cannot pass; it passes after
// a time that the other side, or the queue, has named; or it may pass. What it says goes into the
// history: so a model provider's own words are left out, which may quote a prompt.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var (
		own finalError
		due queuedError
		bad *mind.FinalError
		l   *llm.Error
		s   *slack.Error
	)
	kind, after, text := typeRateLimited, time.Duration(0), err.Error()
	if errors.As(err, &l) {
		text = strings.ReplaceAll(text, l.Error(), l.Brief())
	}
	switch {
	case errors.As(err, &own), errors.As(err, &bad):
		return temporal.NewNonRetryableApplicationError(text, typeFinal, nil)
	case errors.As(err, &due):
		kind, after = typeQueued, due.wait-turnLead
	case l != nil:
		if (!l.Retryable() && !errors.Is(err, context.Canceled)) || l.RetryAfter > maxRetryAfter {
			return temporal.NewNonRetryableApplicationError(text, typeFinal, nil)
		}
		after = l.RetryAfter
	case errors.As(err, &s):
		if s.Kind == slack.Final {
			return temporal.NewNonRetryableApplicationError(text, typeFinal, nil)
		}
		after = s.RetryAfter
	}
	if after > 0 {
		return temporal.NewApplicationErrorWithOptions(text, kind, temporal.ApplicationErrorOptions{
			NextRetryDelay: after, Category: temporal.ApplicationErrorCategoryBenign,
		})
	}
	return temporal.NewApplicationError(text, typeUnavailable)
}
