package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The kinds of failure. Each *Error is exactly one of them by errors.Is.
var (
	// ErrRateLimited: too many requests (429); RetryAfter may say how long to wait.
	ErrRateLimited = errors.New("rate limited")
	// ErrQuota: the account has no money left, or its daily quota is used up (402, some 429).
	// Waiting for minutes does not help.
	ErrQuota = errors.New("quota used up")
	// ErrUnavailable: the provider gave no usable answer (408, 5xx, transport, an answer
	// that is not JSON of the expected form), or the context ended first.
	ErrUnavailable = errors.New("unavailable")
	// ErrInvalid: the provider refuses this request and always will (400, 404, 422, …).
	ErrInvalid = errors.New("invalid request")
	// ErrAuth: the key is missing, wrong or not allowed to do this (401, 403).
	ErrAuth = errors.New("not authorised")
	// ErrBlocked: the provider's safety rules stopped the prompt or the answer.
	ErrBlocked = errors.New("blocked")
	// ErrCut: the answer reached the token limit; Text holds its beginning, which may be empty.
	ErrCut = errors.New("cut at the token limit")
	// ErrEmpty: an answer without text and without a stated cause, or one whose text calls tools in a
	// way that cannot be taken.
	ErrEmpty = errors.New("empty answer")
)

// Error is a failed call. Its text names the provider, the kind, the HTTP status and
// the provider's message. It never holds a key, a header or our prompt.
type Error struct {
	// Kind is one of the sentinels above.
	Kind error
	// Provider is the adapter's name, such as gemini.
	Provider string
	// Status is the HTTP status. For an error inside an HTTP success it is the status that
	// the error names. 0: there is none.
	Status int
	// Code is the provider's name of the failure, such as insufficient_quota: one word that
	// holds nothing of a prompt. It may be empty.
	Code string
	// TooLong is set where the request is too long for the model or its provider.
	TooLong bool
	// RetryAfter is how long to wait, as the provider says; 0: it does not say.
	RetryAfter time.Duration
	// Message is one line of bounded length that says what happened.
	Message string
	// Text is the partial answer of ErrCut. If Fault is about calls in the text, it is the text without them.
	Text string
	// Fault says, to the model, what to do better in a second attempt; empty: there is nothing to say.
	Fault string
	// Usage is what the provider counted, if it did.
	Usage Usage
	// Err is the cause, for errors.Is and errors.As; it may be nil.
	Err error
}

// Error returns one line without secrets.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Provider != "" {
		b.WriteString(e.Provider + ": ")
	}
	if e.Kind != nil {
		b.WriteString(e.Kind.Error())
	} else {
		b.WriteString("failed")
	}
	switch {
	case e.Status != 0 && e.Code != "":
		fmt.Fprintf(&b, " (HTTP %d, %s)", e.Status, e.Code)
	case e.Status != 0:
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	switch {
	case e.Message != "":
		b.WriteString(": " + e.Message)
	case e.Err != nil:
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Brief returns Error without the provider's message, which may quote the prompt.
func (e *Error) Brief() string {
	brief := *e
	if e.Message != "" {
		brief.Message, brief.Err = "", nil
	}
	return brief.Error()
}

// Unwrap returns the kind and the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	var all []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// Retryable reports whether the same request may succeed later. It is false
// after the caller has cancelled, since nobody waits for the answer.
func (e *Error) Retryable() bool {
	if errors.Is(e.Err, context.Canceled) {
		return false
	}
	switch e.Kind {
	case ErrRateLimited, ErrUnavailable, ErrEmpty:
		return true
	}
	return false
}

// Refused reports whether the request's content may be the cause, rather than the key, the
// model or the quota. With ErrBlocked that is certain. With ErrInvalid (400, 413, 422) the
// cause may also be a setting, which then fails every request.
func (e *Error) Refused() bool {
	switch e.Kind {
	case ErrBlocked:
		return true
	case ErrInvalid:
		return e.Status == 400 || e.Status == 413 || e.Status == 422
	}
	return false
}

// kinds are the names of failures for logs and metrics. The first match counts.
var kinds = []struct {
	kind error
	name string
}{
	{context.Canceled, "canceled"}, {context.DeadlineExceeded, "timeout"},
	{ErrRateLimited, "rate_limited"}, {ErrQuota, "quota"}, {ErrUnavailable, "unavailable"}, {ErrInvalid, "invalid"},
	{ErrAuth, "auth"}, {ErrBlocked, "blocked"}, {ErrCut, "cut"}, {ErrEmpty, "empty"},
}

// otherKind is the name of every other error.
const otherKind = "other"

// KindOf returns a short, stable name of an error for logs and metrics: "" for nil,
// "canceled" or "timeout" for a context that ended, "other" for an error of another package.
func KindOf(err error) string {
	if err == nil {
		return ""
	}
	for _, k := range kinds {
		if errors.Is(err, k.kind) {
			return k.name
		}
	}
	return otherKind
}

// kindOfStatus returns the kind of an HTTP status that is not a success.
func kindOfStatus(status int) error {
	switch {
	case status == 429:
		return ErrRateLimited
	case status == 402:
		return ErrQuota
	case status == 408, status >= 500:
		return ErrUnavailable
	case status == 401, status == 403:
		return ErrAuth
	}
	return ErrInvalid
}
