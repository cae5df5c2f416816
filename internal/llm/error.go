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
	// ErrQuota: the account's money, or its quota of the day, is used up (402, some 429). Minutes do not help.
	ErrQuota = errors.New("quota used up")
	// ErrUnavailable: the provider did not answer properly (408, 5xx, transport,
	// an answer that is not the agreed JSON), or the context ended first.
	ErrUnavailable = errors.New("unavailable")
	// ErrInvalid: the provider refuses this request and always will (400, 404, 422, …).
	ErrInvalid = errors.New("invalid request")
	// ErrAuth: the key is missing, wrong or not allowed to do this (401, 403).
	ErrAuth = errors.New("not authorised")
	// ErrBlocked: the provider's safety rules stopped the prompt or the answer.
	ErrBlocked = errors.New("blocked")
	// ErrCut: the answer reached the token limit; Text holds what there is of it, perhaps nothing.
	ErrCut = errors.New("cut at the token limit")
	// ErrEmpty: an answer without text and without a stated cause.
	ErrEmpty = errors.New("empty answer")
)

// Error is a failed call. Its text names provider, kind, HTTP status and the
// provider's own words; never a key, a header or a prompt of ours.
type Error struct {
	// Kind is one of the sentinels above.
	Kind error
	// Provider is the adapter's name: gemini, openai or demo.
	Provider string
	// Status is the HTTP status, or the one that an error names which comes with a success;
	// 0 where none came.
	Status int
	// Code is the provider's name of the failure, as insufficient_quota: one word without
	// anything of a prompt; empty where it has none.
	Code string
	// TooLong is set where the request is longer than the model, or its provider, takes.
	TooLong bool
	// RetryAfter is how long the provider wants to be left alone; 0 when it does not say.
	RetryAfter time.Duration
	// Message is one bounded line that says what happened.
	Message string
	// Text is the partial answer of ErrCut.
	Text string
	// Usage is what the call cost, as far as the provider told.
	Usage Usage
	// Err is the cause, for errors.Is and errors.As; nil where there is none to keep.
	Err error
}

// Error is one line without secrets.
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

// Brief is Error without the provider's own words, which may quote the prompt.
func (e *Error) Brief() string {
	brief := *e
	if e.Message != "" {
		brief.Message, brief.Err = "", nil
	}
	return brief.Error()
}

// Unwrap shows the kind and the cause to errors.Is and errors.As.
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
// once the caller has cancelled: nobody waits for the answer.
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

// Refused reports whether it may be for what a request says that it is refused, and always
// will be, and not for who asks which model, or at whose cost. With ErrBlocked that is
// certain; what is refused as invalid (400, 413, 422) may also be a setting, which then
// comes with every request.
func (e *Error) Refused() bool {
	switch e.Kind {
	case ErrBlocked:
		return true
	case ErrInvalid:
		return e.Status == 400 || e.Status == 413 || e.Status == 422
	}
	return false
}

// kinds are the names of failures for logs and metrics. The first that fits counts.
var kinds = []struct {
	kind error
	name string
}{
	{context.Canceled, "canceled"}, {context.DeadlineExceeded, "timeout"},
	{ErrRateLimited, "rate_limited"}, {ErrQuota, "quota"}, {ErrUnavailable, "unavailable"}, {ErrInvalid, "invalid"},
	{ErrAuth, "auth"}, {ErrBlocked, "blocked"}, {ErrCut, "cut"}, {ErrEmpty, "empty"},
}

// otherKind is the name of what is none of kinds.
const otherKind = "other"

// KindOf is a stable short name of an error for logs and metrics: "" for nil,
// "canceled" and "timeout" for a context that ended, "other" for what is not of this package.
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

// kindOfStatus sorts an HTTP status that is not a success.
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
