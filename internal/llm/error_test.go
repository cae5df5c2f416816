package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestRetryable(t *testing.T) {
	tests := []struct {
		kind  error
		cause error
		want  bool
		name  string
	}{
		{ErrRateLimited, nil, true, "rate_limited"},
		{ErrQuota, nil, false, "quota"},
		{ErrUnavailable, nil, true, "unavailable"},
		{ErrUnavailable, context.DeadlineExceeded, true, "timeout"},
		{ErrUnavailable, context.Canceled, false, "canceled"},
		{ErrEmpty, nil, true, "empty"},
		{ErrInvalid, nil, false, "invalid"},
		{ErrAuth, nil, false, "auth"},
		{ErrBlocked, nil, false, "blocked"},
		{ErrCut, nil, false, "cut"},
		{nil, errors.New("odd"), false, "other"},
	}
	for _, tt := range tests {
		e := &Error{Kind: tt.kind, Err: tt.cause}
		if got := e.Retryable(); got != tt.want {
			t.Errorf("%v: got retryable %v, want %v", e, got, tt.want)
		}
		err := fmt.Errorf("judge: %w", e)
		if got := KindOf(err); got != tt.name {
			t.Errorf("%v: got kind %q, want %q", err, got, tt.name)
		}
		for _, is := range []error{tt.kind, tt.cause} {
			if is != nil && !errors.Is(err, is) {
				t.Errorf("%v is not %v", err, is)
			}
		}
	}
	if got := KindOf(nil); got != "" {
		t.Errorf("got %q for no error", got)
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		kind   error
		status int
		want   bool
	}{
		{ErrBlocked, 0, true}, {ErrBlocked, 400, true},
		{ErrInvalid, 400, true}, {ErrInvalid, 413, true}, {ErrInvalid, 422, true},
		{ErrInvalid, 0, false}, {ErrInvalid, 301, false}, {ErrQuota, 402, false}, {ErrQuota, 400, false}, {ErrInvalid, 404, false}, {ErrInvalid, 409, false},
		{ErrAuth, 400, false}, {ErrAuth, 401, false}, {ErrRateLimited, 429, false}, {ErrUnavailable, 503, false},
		{ErrCut, 0, false}, {ErrEmpty, 0, false}, {nil, 400, false},
	} {
		e := &Error{Kind: tt.kind, Status: tt.status}
		if got := e.Refused(); got != tt.want {
			t.Errorf("%v: refused %v, want %v", e, got, tt.want)
		}
	}
}

func TestErrorText(t *testing.T) {
	tests := []struct {
		err  *Error
		want string
	}{
		{&Error{Kind: ErrRateLimited, Provider: "gemini", Status: 429, Message: "slow down"}, "gemini: rate limited (HTTP 429): slow down"},
		{&Error{Kind: ErrUnavailable, Provider: "openai", Err: context.Canceled}, "openai: unavailable: context canceled"},
		{&Error{Kind: ErrCut, Provider: "openai", Text: "half"}, "openai: cut at the token limit"},
		{&Error{}, "failed"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestParseKey(t *testing.T) {
	if got, err := ParseKey(" abc\r\n"); err != nil || got != "abc" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{"secret\nline", "secretキー", "secret\x7f"} {
		if _, err := ParseKey(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want an error that does not repeat it", bad, err)
		}
	}
}

func TestParseEndpoint(t *testing.T) {
	for _, good := range []string{"http://localhost:11434/v1", " https://x.example/ "} {
		if _, err := ParseEndpoint(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "localhost:11434", "/v1", "ftp://secret@x", "http://", "http://secret:a b@x\x00"} {
		if _, err := ParseEndpoint(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want an error that does not repeat it", bad, err)
		}
	}
}
