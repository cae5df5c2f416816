package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	slackapi "github.com/slack-go/slack"

	"myao/internal/runtime/pause"
)

// ErrorKind says what the caller of a failed call may do next.
type ErrorKind string

const (
	// RateLimited: Slack refused the call, without effect. Try again after RetryAfter.
	RateLimited ErrorKind = "rate_limited"
	// Final: Slack refused the call, without effect, and would refuse it again.
	Final ErrorKind = "final"
	// Ambiguous: the call may have had its effect. Look for the effect of a write before you
	// repeat it. A read may simply be repeated.
	Ambiguous ErrorKind = "ambiguous"
	// Transient: the call never reached Slack, or Slack refused it for a passing reason.
	Transient ErrorKind = "transient"
)

// Codes of failures that Slack has no code for.
const (
	codeTimeout    = "timeout"
	codeCanceled   = "canceled"
	codeConnection = "connection_failed"
	codeUnreadable = "unreadable_answer"
	codeUnknown    = "unknown_error"
	codeArgument   = "invalid_arguments"
	codeTooMany    = "too_many_pages"
	codeTooLarge   = "file_too_large"
	codeForeignURL = "not_slacks_address"
)

// Error is a failed call of Slack's Web API. It never holds a token.
type Error struct {
	// Method is the API method, such as chat.postMessage.
	Method string
	// Code is Slack's error code (channel_not_found), http_503 for a bare status, or one
	// of not_installed, timeout, canceled, connection_failed, unreadable_answer, unknown_error,
	// invalid_arguments, too_many_pages, file_too_large and not_slacks_address.
	Code string
	// Status is the HTTP status; 0 without an answer.
	Status int
	// RetryAfter is how long Slack asks to wait; 0 if it does not say.
	RetryAfter time.Duration
	Kind       ErrorKind
	cause      error
}

func (e *Error) Error() string {
	s := "slack " + e.Method + ": " + e.Code
	if e.RetryAfter > 0 {
		s += ", retry after " + e.RetryAfter.String()
	}
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

// Unwrap returns the underlying error; nil if Slack's own answer is the error.
func (e *Error) Unwrap() error { return e.cause }

// TimedOut reports whether we gave the call up before Slack answered. Its effect may still come
// afterwards.
func (e *Error) TimedOut() bool { return e.Code == codeTimeout || e.Code == codeCanceled }

// OfSlack reports whether Slack answered that it failed itself. It may do so whenever a message has the same form,
// while it takes a plainer one.
func (e *Error) OfSlack() bool {
	answered := e.Status == http.StatusOK || e.Status >= http.StatusInternalServerError
	return e.Kind == Ambiguous && e.Code != codeUnreadable && answered
}

// Retryable reports whether the same call may simply be made again after RetryAfter: if it had no
// effect and the cause can pass, or if the answer was lost and the method only reads.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case RateLimited, Transient:
		return true
	case Ambiguous:
		return isRead(e.Method)
	}
	return false
}

// isRead reports whether a method changes nothing. An unknown method counts as a write.
func isRead(method string) bool {
	switch method[strings.LastIndexByte(method, '.')+1:] {
	case "test", "info", "list", "history", "replies", "members":
		return true
	}
	return method == "users.conversations" || method == openMethod || method == downloadMethod
}

// PlaceRefusal is what a refused post may not go to.
type PlaceRefusal string

const (
	// ThreadRefused: nothing can be posted in the thread.
	ThreadRefused PlaceRefusal = "thread"
	// TopLevelRefused: only replies can be posted in the channel.
	TopLevelRefused PlaceRefusal = "top level"
	// ChannelRefused: the bot may read the channel, and not write there.
	ChannelRefused PlaceRefusal = "channel"
)

var refusedPostPattern = regexp.MustCompile(`^slack chat\.postMessage: ([a-z0-9_]+)`)

// RefusedPlace reads from the text of a Final error of Post which place was refused; "" if it was not the place
// (docs.slack.dev/reference/methods/chat.postMessage#errors).
func RefusedPlace(text string) PlaceRefusal {
	m := refusedPostPattern.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	switch code := m[1]; {
	case code == "restricted_action_thread_only_channel":
		return TopLevelRefused
	case strings.Contains(code, "thread"), code == "cannot_reply_to_message", code == "message_not_found":
		return ThreadRefused
	case strings.HasPrefix(code, "restricted_action"):
		return ChannelRefused
	}
	return ""
}

// Wait waits for as long as Slack said to wait before another try, or for fallback if it did
// not say. Wait returns false, and at once, if the context would end first.
func (e *Error) Wait(ctx context.Context, fallback time.Duration) bool {
	d := cmp.Or(e.RetryAfter, fallback)
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	return pause.For(ctx, d)
}

// classify turns the error of a call into an *Error. It accepts errors of this package, of slack-go
// and of net/http, and returns nil for nil. Codes:
// docs.slack.dev/reference/methods/chat.postMessage#errors.
func classify(method string, err error) *Error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if limited, ok := errors.AsType[*slackapi.RateLimitedError](err); ok {
		return &Error{Method: method, Code: "ratelimited", Status: http.StatusTooManyRequests,
			RetryAfter: limited.RetryAfter, Kind: RateLimited}
	}
	if status, ok := errors.AsType[slackapi.StatusCodeError](err); ok {
		return statusError(method, status.Code, 0)
	}
	if answer, ok := errors.AsType[slackapi.SlackErrorResponse](err); ok {
		return answerError(method, answer.Err, 0)
	}
	return transportError(method, err, !notSent(err))
}

// statusError is an answer with another HTTP status than 200
// (docs.slack.dev/apis/web-api/rate-limits). Slack itself refuses with 200 and a code, or with 429.
// Any other status may come from a proxy, and does not say whether the call had its effect.
func statusError(method string, status int, retryAfter time.Duration) *Error {
	e := &Error{Method: method, Code: "http_" + strconv.Itoa(status), Status: status, RetryAfter: retryAfter,
		Kind: Ambiguous}
	if status == http.StatusTooManyRequests {
		e.Code, e.Kind = "ratelimited", RateLimited
		// So errors.As finds slack-go's own error, with how long to wait.
		e.cause = &slackapi.RateLimitedError{RetryAfter: retryAfter}
	}
	return e
}

var codePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,79}$`)

// answerError is an answer {"ok":false,"error":code}. A code that is not known to be passing is Final.
func answerError(method, code string, retryAfter time.Duration) *Error {
	e := &Error{Method: method, Code: code, Status: http.StatusOK, RetryAfter: retryAfter, Kind: Final}
	switch code {
	case "ratelimited", "rate_limited":
		e.Kind = RateLimited
	case "internal_error", "fatal_error", "service_unavailable", "request_timeout":
		// "It's possible some aspect of the operation succeeded before the error was raised."
		e.Kind = Ambiguous
	case "token_revoked", "account_inactive", CodeNotGranted:
		e.Kind, e.RetryAfter = Transient, revokedRetry
	case CodeExpired:
		e.Kind, e.RetryAfter = Transient, expiredRetry
	case "team_added_to_org", "org_login_required", "external_channel_migrating":
		e.Kind = Transient
	case "":
		e.Code, e.Kind = codeUnreadable, Ambiguous
	default:
		if !codePattern.MatchString(code) {
			e.Code = codeUnknown
		}
	}
	return e
}

// transportError is a call without a complete answer. sent says whether any of it may have reached
// Slack.
func transportError(method string, err error, sent bool) *Error {
	e := &Error{Method: method, Code: codeConnection, Kind: Transient, cause: withoutURL(err)}
	if sent {
		e.Kind = Ambiguous
	}
	var timeout net.Error
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax), errors.As(err, &mistyped):
		e.Code = codeUnreadable
	case errors.Is(err, context.Canceled):
		e.Code = codeCanceled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		e.Code = codeTimeout
	}
	return e
}

// notSent reports whether the error alone shows that the call found no connection.
func notSent(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "dial" || op.Op == "proxyconnect") {
		return true
	}
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.Is(err, syscall.ECONNREFUSED)
}

// withoutURL removes the URL that net/http puts in front. The URL of a socket holds a secret ticket.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
