package llm

import (
	"bytes"
	"encoding/json"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	// messageLimit bounds, in characters, how much of a provider's words is passed on.
	messageLimit = 300
	// retryAfterLimit bounds a stated wait: more than a day is a mistake, not a plan.
	retryAfterLimit = 24 * time.Hour
)

// refusal makes the typed error of an answer whose status is not a success.
func (t *Transport) refusal(res *http.Response, body []byte, now time.Time) *Error {
	told := readRefusal(body)
	e := &Error{Kind: kindOfStatus(res.StatusCode), Provider: t.Provider, Status: res.StatusCode}
	switch told.code {
	case "API_KEY_INVALID": // Google says 400 to a wrong key
		e.Kind = ErrAuth
	case "content_filter", "content_policy_violation": // Azure says 400 to a prompt it blocks
		e.Kind = ErrBlocked
	}
	e.RetryAfter = retryAfter(res.Header, now)
	if e.RetryAfter == 0 {
		e.RetryAfter = clampWait(told.wait)
	}
	e.Message = t.clean(told.message)
	if e.Message == "" {
		e.Message = t.clean(plain(res.Header, body))
	}
	return e
}

// told is what a provider said about a failure.
type told struct {
	message string
	code    string
	wait    time.Duration
}

// readRefusal reads the shapes in which servers put an error: Google's and
// OpenAI's object (Google's also in a list), Ollama's string, vLLM's bare
// message and FastAPI's detail. An unknown shape yields nothing.
func readRefusal(body []byte) told {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage
		Message json.RawMessage
		Detail  json.RawMessage
	}
	if json.Unmarshal(body, &outer) != nil {
		return told{}
	}
	var inner struct {
		Message string
		Code    json.RawMessage
		Details []struct {
			Reason     string
			RetryDelay string
		}
	}
	if json.Unmarshal(outer.Error, &inner) != nil {
		return told{message: firstString(outer.Error, outer.Message, outer.Detail)}
	}
	t := told{message: inner.Message, code: firstString(inner.Code)}
	for _, d := range inner.Details {
		if d.Reason != "" {
			t.code = d.Reason
		}
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil {
			t.wait = wait
		}
	}
	return t
}

func firstString(raws ...json.RawMessage) string {
	for _, raw := range raws {
		var s string
		if json.Unmarshal(raw, &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// plain is a body of plain text, as proxies send it; pages and unknown JSON say nothing in one line.
func plain(h http.Header, body []byte) string {
	if media, _, _ := mime.ParseMediaType(h.Get("Content-Type")); media == "text/plain" {
		return string(body[:min(len(body), 4*messageLimit)])
	}
	return ""
}

// retryAfter reads Retry-After (seconds or an HTTP date) and Azure's
// retry-after-ms. A date counts from the server's own clock where it tells it.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return waitOf(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return waitOf(s)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return clampWait(at.Sub(now))
}

func waitOf(seconds float64) time.Duration {
	if math.IsNaN(seconds) {
		return 0
	}
	seconds = min(max(seconds, 0), retryAfterLimit.Seconds())
	return time.Duration(seconds * float64(time.Second))
}

func clampWait(d time.Duration) time.Duration { return min(max(d, 0), retryAfterLimit) }

// clean makes one bounded line of s without the transport's secrets: servers
// like to quote a wrong key back.
func (t *Transport) clean(s string) string {
	for _, secret := range t.secrets() {
		s = strings.ReplaceAll(s, secret, "[key]")
	}
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	s = strings.ToValidUTF8(s, "�")
	if r := []rune(s); len(r) > messageLimit {
		s = string(r[:messageLimit]) + "…"
	}
	return s
}
