package activities

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"myao/internal/llm"
	"myao/internal/slack"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	if err := classify(nil); err != nil {
		t.Errorf("nil became %v", err)
	}
	for _, c := range []struct {
		name  string
		err   error
		kind  string
		after time.Duration
	}{
		{"a final error of ours", final(errors.New("the verdict cannot be read")), typeFinal, 0},
		{"the database", errors.New("database is locked"), typeUnavailable, 0},
		{"a canceled attempt", context.Canceled, typeUnavailable, 0},
		{"an attempt out of time", context.DeadlineExceeded, typeUnavailable, 0},

		{"not its turn yet", queuedError{"part 1", time.Minute}, typeQueued, time.Minute - slotLead},

		{"model unavailable", &llm.Error{Kind: llm.ErrUnavailable, Status: 503}, typeUnavailable, 0},
		{"model unavailable until", &llm.Error{Kind: llm.ErrUnavailable, Status: 503, RetryAfter: time.Minute}, typeRateLimited, time.Minute},
		{"model rate limited", &llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: 7 * time.Second}, typeRateLimited, 7 * time.Second},
		{"model rate limited for maxRetryAfter", &llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: maxRetryAfter}, typeRateLimited, maxRetryAfter},
		{"model rate limited for longer", &llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: maxRetryAfter + time.Second}, typeFinal, 0},
		{"model rate limited, no time named", &llm.Error{Kind: llm.ErrRateLimited, Status: 429}, typeUnavailable, 0},
		{"model empty", &llm.Error{Kind: llm.ErrEmpty}, typeUnavailable, 0},
		{"model cut before the first word", &llm.Error{Kind: llm.ErrCut}, typeFinal, 0},
		{"model blocked", &llm.Error{Kind: llm.ErrBlocked}, typeFinal, 0},
		{"model invalid", &llm.Error{Kind: llm.ErrInvalid, Status: 400}, typeFinal, 0},
		{"model key refused", &llm.Error{Kind: llm.ErrAuth, Status: 401}, typeFinal, 0},
		{"model call canceled", &llm.Error{Kind: llm.ErrUnavailable, Err: context.Canceled}, typeUnavailable, 0},

		{"slack rate limited", &slack.Error{Code: "ratelimited", Kind: slack.RateLimited, RetryAfter: 30 * time.Second}, typeRateLimited, 30 * time.Second},
		{"slack rate limited, no time named", &slack.Error{Code: "ratelimited", Kind: slack.RateLimited}, typeUnavailable, 0},
		{"slack ambiguous", &slack.Error{Code: "http_503", Kind: slack.Ambiguous}, typeUnavailable, 0},
		{"slack transient", &slack.Error{Code: "connection_failed", Kind: slack.Transient}, typeUnavailable, 0},
		{"slack final", &slack.Error{Code: "not_in_channel", Kind: slack.Final}, typeFinal, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, err := range []error{c.err, fmt.Errorf("post: %w", fmt.Errorf("part 1: %w", c.err))} {
				var got *temporal.ApplicationError
				if !errors.As(classify(err), &got) {
					t.Fatalf("got %v", classify(err))
				}
				if got.Type() != c.kind || got.NonRetryable() != (c.kind == typeFinal) || got.NextRetryDelay() != c.after {
					t.Errorf("%v: got %s, non-retryable %v, after %s; want %s after %s",
						err, got.Type(), got.NonRetryable(), got.NextRetryDelay(), c.kind, c.after)
				}
				if benign := got.Category() == temporal.ApplicationErrorCategoryBenign; benign != (c.after > 0) {
					t.Errorf("%v: benign %v", err, benign)
				}
				if got.Message() != err.Error() {
					t.Errorf("says %q, want %q", got.Message(), err.Error())
				}
			}
		})
	}
}

// A provider may quote the prompt, and with it messages, in its refusal.
func TestProviderMessagesStayOutOfHistories(t *testing.T) {
	t.Parallel()
	err := classify(fmt.Errorf("compose: %w", &llm.Error{Kind: llm.ErrInvalid, Provider: "gemini", Status: 400, Message: "bad contents: PRIVATE"}))
	if got, want := applicationError(t, err).Message(), "compose: gemini: invalid request (HTTP 400)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
