package activities

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"

	"myao/internal/answer/agents"
	"myao/internal/llm"
	"myao/internal/slack"
)

// finalError marks an error of our own that no further attempt fixes.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

func final(err error) error { return finalError{err} }

// queuedError says that a part's slot has not come yet.
type queuedError struct {
	what string
	wait time.Duration
}

func (e queuedError) Error() string { return e.what + ": its turn comes in " + e.wait.String() }

// slotLead is how long before its slot a part is attempted again. The time until a worker has the
// attempt varies, and a missed slot is lost.
const slotLead = 2 * time.Second

// The types of errors in a workflow's history.
const (
	typeRateLimited = "RateLimited"
	typeQueued      = "Queued"
	typeFinal       = "Final"
	typeUnavailable = "Unavailable"
)

// maxRetryAfter is the longest Retry-After of a provider that is honoured. Somebody waits for the
// answer, and so does everything after it in the conversation.
const maxRetryAfter = 10 * time.Minute

// classify tells Temporal what an error means: it is final, or it can be retried, perhaps after a
// time that the other side or the queue named. The text goes into the history. So it leaves
// out the words of a model's provider, which may quote a prompt.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var (
		own    finalError
		queued queuedError
		bad    *agents.FinalError
		l      *llm.Error
		s      *slack.Error
	)
	kind, after, text := typeRateLimited, time.Duration(0), err.Error()
	if errors.As(err, &l) {
		text = strings.ReplaceAll(text, l.Error(), l.Brief())
	}
	switch {
	case errors.As(err, &own), errors.As(err, &bad):
		return temporal.NewNonRetryableApplicationError(text, typeFinal, nil)
	case errors.As(err, &queued):
		kind, after = typeQueued, queued.wait-slotLead
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
