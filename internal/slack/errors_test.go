package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	slackapi "github.com/slack-go/slack"
)

type timeoutError struct{}

func (timeoutError) Error() string   { return "i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

func TestClassify(t *testing.T) {
	t.Parallel()
	post := func(err error) error {
		return &url.Error{Op: "Post", URL: "https://slack.com/api/chat.postMessage?token=xoxb-1", Err: err}
	}
	code := func(s string) error { return slackapi.SlackErrorResponse{Err: s} }
	for _, tc := range []struct {
		name  string
		err   error
		kind  ErrorKind
		code  string
		write bool // Retryable after chat.postMessage
		read  bool // Retryable after conversations.info
		wait  time.Duration
	}{
		{name: "429 with header", err: &slackapi.RateLimitedError{RetryAfter: 7 * time.Second}, kind: RateLimited, code: "ratelimited", write: true, read: true, wait: 7 * time.Second},
		{name: "429 without header", err: slackapi.StatusCodeError{Code: 429}, kind: RateLimited, code: "ratelimited", write: true, read: true},
		{name: "ok:false ratelimited", err: code("ratelimited"), kind: RateLimited, code: "ratelimited", write: true, read: true},
		{name: "ok:false rate_limited", err: code("rate_limited"), kind: RateLimited, code: "rate_limited", write: true, read: true},
		{name: "500", err: slackapi.StatusCodeError{Code: 500}, kind: Ambiguous, code: "http_500", read: true},
		{name: "503", err: fmt.Errorf("post: %w", slackapi.StatusCodeError{Code: 503}), kind: Ambiguous, code: "http_503", read: true},
		{name: "408", err: slackapi.StatusCodeError{Code: 408}, kind: Ambiguous, code: "http_408", read: true},
		{name: "403", err: slackapi.StatusCodeError{Code: 403}, kind: Ambiguous, code: "http_403", read: true},
		{name: "404", err: slackapi.StatusCodeError{Code: 404}, kind: Ambiguous, code: "http_404", read: true},
		{name: "302", err: slackapi.StatusCodeError{Code: 302}, kind: Ambiguous, code: "http_302", read: true},
		{name: "internal_error", err: code("internal_error"), kind: Ambiguous, code: "internal_error", read: true},
		{name: "fatal_error", err: code("fatal_error"), kind: Ambiguous, code: "fatal_error", read: true},
		{name: "service_unavailable", err: code("service_unavailable"), kind: Ambiguous, code: "service_unavailable", read: true},
		{name: "request_timeout", err: code("request_timeout"), kind: Ambiguous, code: "request_timeout", read: true},
		{name: "migration", err: code("team_added_to_org"), kind: Transient, code: "team_added_to_org", write: true, read: true},
		{name: "migration under way", err: code("org_login_required"), kind: Transient, code: "org_login_required", write: true, read: true},
		{name: "channel_not_found", err: code("channel_not_found"), kind: Final, code: "channel_not_found"},
		{name: "not_in_channel", err: code("not_in_channel"), kind: Final, code: "not_in_channel"},
		{name: "is_archived", err: code("is_archived"), kind: Final, code: "is_archived"},
		{name: "invalid_auth", err: code("invalid_auth"), kind: Final, code: "invalid_auth"},
		{name: "missing_scope", err: code("missing_scope"), kind: Final, code: "missing_scope"},
		{name: "msg_too_long", err: code("msg_too_long"), kind: Final, code: "msg_too_long"},
		{name: "never seen", err: code("moon_in_wrong_phase"), kind: Final, code: "moon_in_wrong_phase"},
		{name: "no code at all", err: code("xoxb-1 is bad\n"), kind: Final, code: "unknown_error"},
		{name: "empty code", err: code(""), kind: Ambiguous, code: "unreadable_answer", read: true},
		{name: "refused", err: post(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), kind: Transient, code: "connection_failed", write: true, read: true},
		{name: "dial timeout", err: post(&net.OpError{Op: "dial", Err: timeoutError{}}), kind: Transient, code: "timeout", write: true, read: true},
		{name: "DNS", err: post(&net.DNSError{Err: "no such host", Name: "slack.example"}), kind: Transient, code: "connection_failed", write: true, read: true},
		{name: "read timeout", err: post(&net.OpError{Op: "read", Err: timeoutError{}}), kind: Ambiguous, code: "timeout", read: true},
		{name: "deadline", err: post(context.DeadlineExceeded), kind: Ambiguous, code: "timeout", read: true},
		{name: "cancelled", err: post(context.Canceled), kind: Ambiguous, code: "canceled", read: true},
		{name: "reset", err: post(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), kind: Ambiguous, code: "connection_failed", read: true},
		{name: "dropped", err: post(io.EOF), kind: Ambiguous, code: "connection_failed", read: true},
		{name: "cut short", err: io.ErrUnexpectedEOF, kind: Ambiguous, code: "connection_failed", read: true},
		{name: "no JSON", err: &json.SyntaxError{}, kind: Ambiguous, code: "unreadable_answer", read: true},
		{name: "ours already", err: fmt.Errorf("x: %w", &Error{Method: "chat.postMessage", Code: "y", Kind: Final}), kind: Final, code: "y"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := classify("chat.postMessage", tc.err)
			if got.Kind != tc.kind || got.Code != tc.code || got.RetryAfter != tc.wait || got.Method != "chat.postMessage" {
				t.Errorf("got %+v, want %s %s", got, tc.kind, tc.code)
			}
			if got.Retryable() != tc.write {
				t.Errorf("write: Retryable %v", got.Retryable())
			}
			var ours *Error
			if read := classify("conversations.info", tc.err); !errors.As(tc.err, &ours) && read.Retryable() != tc.read {
				t.Errorf("read: Retryable %v", read.Retryable())
			}
			if strings.Contains(got.Error(), "xoxb") {
				t.Errorf("token told: %v", got)
			}
		})
	}
	if classify("x", nil) != nil {
		t.Error("nil is an error")
	}
	if !errors.Is(classify("x", post(context.Canceled)), context.Canceled) {
		t.Error("the cause is lost")
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]bool{
		"auth.test": true, "users.info": true, "bots.info": true, "conversations.info": true, "conversations.history": true,
		"conversations.replies": true, "users.conversations": true, "apps.connections.open": true, "conversations.list": true,
		"chat.postMessage": false, "chat.update": false, "reactions.add": false, "conversations.join": false, "": false,
	} {
		if got := isRead(method); got != want {
			t.Errorf("%q: got %v", method, got)
		}
	}
}
