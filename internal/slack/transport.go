package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	defaultTimeout = 10 * time.Second
	// maxAnswer bounds how much of an answer is read, in bytes: a page of 1,000 long messages fits.
	maxAnswer = 64 << 20
	// maxRetryAfter bounds the Retry-After header, so that a nonsensical one cannot stop the bot for good.
	maxRetryAfter = 24 * time.Hour
)

// transport is between slack-go and net/http. It judges an answer before slack-go decodes it. slack-go
// takes {} and {"ok":false} without a code for success, and one malformed block makes it fail a whole
// page, or a post that was made.
type transport struct {
	client *http.Client
	// scopes is set to the token's scopes whenever an answer names them; it may be nil.
	scopes *atomic.Pointer[[]string]
}

// newTransport copies the client, with a timeout and without redirects: a redirect would send the token
// in the body to another address.
func newTransport(client *http.Client) transport {
	own := http.Client{Timeout: defaultTimeout}
	if client != nil {
		own = *client
	}
	if own.Timeout <= 0 {
		own.Timeout = defaultTimeout
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return transport{client: &own}
}

// Doer makes slack-go's calls outside a Client. client is as in Config; m measures the calls, if it is not nil.
// Its errors are for Failure.
func Doer(client *http.Client, m *Metrics) interface {
	Do(*http.Request) (*http.Response, error)
} {
	return measuredTransport{newTransport(client), m}
}

// Do makes the call. Every answer other than {"ok":true} is returned as an *Error.
func (t transport) Do(req *http.Request) (*http.Response, error) {
	method := methodOf(req)
	// Without a connection nothing can have been sent, whatever the error says.
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	resp, err := t.client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		return nil, transportError(method, withContextError(req.Context(), err), connected.Load())
	}
	defer func() { _ = resp.Body.Close() }()
	if into, wanted := req.Context().Value(headerKey{}).(*http.Header); wanted {
		*into = resp.Header
	}
	if granted := scopesIn(resp.Header); granted != nil && t.scopes != nil {
		t.scopes.Store(&granted)
	}
	retryAfter := retryAfter(resp.Header)
	if resp.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be reused
		return nil, statusError(method, resp.StatusCode, retryAfter)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		e := transportError(method, withContextError(req.Context(), err), true)
		e.Status = resp.StatusCode
		return nil, e
	}
	answer, ok := parseObject(body)
	var success bool
	if !ok || json.Unmarshal(answer["ok"], &success) != nil {
		return nil, unreadable(method, fmt.Errorf("%d bytes of %q", len(body), mediaType(resp.Header)))
	}
	if !success {
		return nil, answerError(method, answer.text("error"), retryAfter)
	}
	delete(answer, "message") // of a post; slack-go need not decode it
	delete(answer, "view")    // that was published
	if into, wanted := req.Context().Value(answerKey{}).(*object); wanted {
		*into = maps.Clone(answer)
		for _, key := range []string{"messages", "user", "bot", "channel", "channels", "members", "file", "comments"} {
			delete(answer, key)
		}
	}
	if body, err = json.Marshal(answer); err != nil {
		return nil, unreadable(method, err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// withContextError adds the context's error to an error of a call that the context ended. net/http
// returns the context's cause instead, and Temporal's SDK sets a cause whenever it ends an activity.
func withContextError(ctx context.Context, err error) error {
	if end := ctx.Err(); end != nil && !errors.Is(err, end) {
		return fmt.Errorf("%w: %w", end, withoutURL(err))
	}
	return err
}

// methodOf returns the API method that a request calls.
func methodOf(req *http.Request) string { return path.Base(req.URL.Path) }

func unreadable(method string, cause error) *Error {
	return &Error{Method: method, Code: codeUnreadable, Status: http.StatusOK, Kind: Ambiguous, cause: cause}
}

func mediaType(h http.Header) string {
	t, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return t
}

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After")), 64)
	if err != nil || !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}

// answerKey makes Do store the answer in the context, and pass only its cursor on to slack-go. What
// people wrote and how they are called is read here, field by field, like events.
type answerKey struct{}

func withAnswer(ctx context.Context) (context.Context, *object) {
	answer := new(object)
	return context.WithValue(ctx, answerKey{}, answer), answer
}

// headerKey makes Do store the answer's header in the context.
type headerKey struct{}

func withHeader(ctx context.Context) (context.Context, *http.Header) {
	header := new(http.Header)
	return context.WithValue(ctx, headerKey{}, header), header
}
