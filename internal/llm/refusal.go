package llm

import (
	"bytes"
	"encoding/json"
	"math"
	"mime"
	"net/http"
	"regexp"
	"slices"
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
	e := t.classify(res.StatusCode, readRefusal(body), res.Header, now)
	if e.Message == "" {
		e.Message = t.redact(plainText(res.Header, body))
	}
	return e
}

// errorInSuccess is the error that a success brings instead of an answer, or in place of the
// first choice; nil if it brings none. OpenRouter has said 200 before its provider fails
// (openrouter.ai/docs/api/reference/errors-and-debugging), and LM Studio says it of a path that it
// does not know. The error's own code, where it is one of HTTP, counts as the status.
func (t *Transport) errorInSuccess(res *http.Response, body []byte, now time.Time) *Error {
	var outer struct {
		Error      json.RawMessage
		Candidates json.RawMessage
		Choices    []struct{ Error json.RawMessage }
	}
	_ = json.Unmarshal(body, &outer) // what has another form is left out
	failure := outer.Error
	if len(outer.Choices) > 0 {
		failure = outer.Choices[0].Error
	}
	if said := string(failure); outer.Candidates != nil || slices.Contains([]string{"", "null", "false", `""`, "{}"}, said) {
		return nil
	}
	told := readRefusal([]byte(`{"error":` + string(failure) + `}`))
	status, named := told.status, 400 <= told.status && told.status <= 599
	if !named {
		status = res.StatusCode
	}
	e := t.classify(status, told, res.Header, now)
	if !named && e.Kind == ErrInvalid { // of a success, which says nothing about the error
		e.Kind = ErrUnavailable
	}
	return e
}

// classify is the typed error of what was told with a status.
func (t *Transport) classify(status int, told providerError, header http.Header, now time.Time) *Error {
	e := &Error{Kind: kindOfStatus(status), Provider: t.Provider, Status: status, Message: t.redact(told.message)}
	if code := t.redact(told.code); codePattern.MatchString(code) {
		e.Code = code
	}
	e.TooLong = status == 413 || status == 429 && strings.HasPrefix(told.message, "Request too large") ||
		(status == 400 || status == 422) && tooLongPattern.MatchString(told.code+" "+told.message)
	switch {
	case told.code == "API_KEY_INVALID": // Google says 400 to a wrong key
		e.Kind = ErrAuth
	case told.code == "FAILED_PRECONDITION" && status == 400: // and to a country that it does not serve
		e.Kind = ErrAuth
	case slices.Contains(blockedCodes, told.code), told.message == "Content Exists Risk", told.flagged:
		e.Kind = ErrBlocked
	case cutPattern.MatchString(told.message), cutPattern.MatchString(told.attempt):
		e.Kind = ErrCut
	case e.TooLong && status == 429: // OpenAI, of one that is more than all of a minute's tokens: no wait helps
		e.Kind = ErrInvalid
		return e
	case told.code == "json_validate_failed": // Groq's model wrote no JSON, which it may the next time
		e.Kind = ErrEmpty
	case slices.Contains(quotaCodes, told.code), status == 429 && header.Get("Retry-After") == "" && quotaPattern.MatchString(told.code+" "+told.message):
		// Google tells of half a minute to wait with a quota of the day, too.
		e.Kind = ErrQuota
		return e
	}
	e.RetryAfter = retryAfter(header, now)
	if e.RetryAfter == 0 {
		e.RetryAfter = clampWait(told.wait)
	}
	return e
}

var (
	// blockedCodes are what Azure, OpenAI and Alibaba call a prompt that they will not have; they
	// say 400 to it. DeepSeek has no code of its own for it, and says the same in its message.
	blockedCodes = []string{"content_filter", "content_policy_violation", "invalid_prompt", "data_inspection_failed"}
	// cutPattern is how OpenAI and Groq say 400, and not that an answer was cut, where thoughts
	// took all the tokens: "Could not finish the message because max_tokens or model output limit
	// was reached", "max completion tokens reached before generating a valid document".
	cutPattern = regexp.MustCompile(`^Could not finish the message because max_tokens|max completion tokens reached before`)
	// tooLongPattern is how OpenAI, llama.cpp, vLLM and Google say that a prompt, with what may be
	// answered, is longer than the model's window.
	tooLongPattern = regexp.MustCompile(`(?i)context_length_exceeded|exceed_context_size|maximum context length|context size|input token count .*exceeds`)
	// quotaCodes are what OpenAI calls an account without money. It says 429 to one, as it
	// does to too many requests.
	quotaCodes = []string{
		"insufficient_quota", "credit_balance_exhausted", "billing_not_active", "billing_hard_limit_reached",
		"project_spend_limit_exceeded", "organization_spend_limit_exceeded", "organization_usage_limit_exceeded",
	}
	// quotaPattern is how Google and OpenRouter tell in a 429 that the day's quota or the money
	// is used up: GenerateRequestsPerDayPerProjectPerModel-FreeTier, free-models-per-day, "Your
	// prepayment credits are depleted". Groq's limits of a day fill up again by the minute, and
	// come with a Retry-After.
	quotaPattern = regexp.MustCompile(`(?i)per[- ]?day|credits are depleted|spending cap`)
)

// codePattern is what passes for a provider's name of a failure, and not for its words.
var codePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// providerError is what a provider said about a failure.
type providerError struct {
	message string
	// code is its name, and status its number; empty and 0 where it has none.
	code   string
	status int
	wait   time.Duration
	// attempt is what Groq could not take for JSON, flagged that OpenRouter's moderation has
	// stopped the prompt.
	attempt string
	flagged bool
}

// readRefusal reads the shapes in which servers put an error: Google's and
// OpenAI's object (Google's also in a list), Ollama's string, vLLM's bare
// message and FastAPI's detail. An unknown shape yields nothing, and a part of another
// form leaves the rest readable.
func readRefusal(body []byte) providerError {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	type bare struct {
		Message, Code, Type, Status json.RawMessage
	}
	var outer struct {
		bare
		Error, Detail json.RawMessage
	}
	if json.Unmarshal(body, &outer) != nil {
		return providerError{}
	}
	var inner struct {
		bare
		Details, Metadata json.RawMessage
		Attempt           json.RawMessage `json:"failed_generation"`
	}
	if json.Unmarshal(outer.Error, &inner) != nil {
		inner.bare = bare{Code: outer.Code, Type: outer.Type, Status: outer.Status}
	}
	t := providerError{
		message: firstString(inner.Message, outer.Error, outer.Message, outer.Detail),
		code:    firstString(inner.Code, inner.Type, inner.Status),
		attempt: firstString(inner.Attempt),
	}
	if n, err := strconv.Atoi(strings.Trim(string(inner.Code), `"`)); err == nil {
		t.status, t.code = n, firstString(inner.Type, inner.Status)
	}
	var moderation struct {
		Flagged string `json:"flagged_input"`
	}
	_ = json.Unmarshal(inner.Metadata, &moderation)
	t.flagged = moderation.Flagged != ""
	var details []struct {
		Reason, RetryDelay string
		Violations         []struct{ QuotaID string }
	}
	_ = json.Unmarshal(inner.Details, &details)
	for _, d := range details {
		if d.Reason != "" {
			t.code = d.Reason
		}
		for _, v := range d.Violations { // of a day and of a minute, in any order
			if v.QuotaID != "" && !quotaPattern.MatchString(t.code) {
				t.code = v.QuotaID
			}
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

// plainText is a body of plain text, as proxies send it; pages and unknown JSON say nothing in one line.
func plainText(h http.Header, body []byte) string {
	if media, _, _ := mime.ParseMediaType(h.Get("Content-Type")); media == "text/plain" {
		return string(body[:min(len(body), 4*messageLimit)])
	}
	return ""
}

// retryAfter reads Retry-After (seconds or an HTTP date) and Azure's
// retry-after-ms. A date counts from the server's own clock where it tells it.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return seconds(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return seconds(s)
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

func seconds(seconds float64) time.Duration {
	if math.IsNaN(seconds) {
		return 0
	}
	seconds = min(max(seconds, 0), retryAfterLimit.Seconds())
	return time.Duration(seconds * float64(time.Second))
}

func clampWait(d time.Duration) time.Duration { return min(max(d, 0), retryAfterLimit) }

// redact makes one bounded line of s without the transport's secrets: servers
// like to quote a wrong key back.
func (t *Transport) redact(s string) string {
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
