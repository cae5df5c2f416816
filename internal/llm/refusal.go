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
	// messageLimit bounds a provider's message, in characters.
	messageLimit = 300
	// retryAfterLimit bounds Retry-After: more than a day is taken for a mistake.
	retryAfterLimit = 24 * time.Hour
)

// refusal returns the error for an answer whose status is not a success.
func (t *Transport) refusal(res *http.Response, body []byte, now time.Time) *Error {
	e := t.classify(res.StatusCode, readRefusal(body), res.Header, now)
	if e.Message == "" {
		e.Message = t.redact(plainText(res.Header, body))
	}
	return e
}

// errorInSuccess returns the error that an HTTP success holds in place of an answer or of the
// first choice; nil: there is none. OpenRouter answers 200 before its provider fails
// (openrouter.ai/docs/api/reference/errors-and-debugging), and LM Studio answers 200 to an
// unknown path. If the error's code is an HTTP status, it replaces the status.
func (t *Transport) errorInSuccess(res *http.Response, body []byte, now time.Time) *Error {
	var outer struct {
		Error      json.RawMessage
		Candidates json.RawMessage
		Choices    []struct{ Error json.RawMessage }
	}
	_ = json.Unmarshal(body, &outer) // fields of another form stay empty
	failure := outer.Error
	if len(outer.Choices) > 0 {
		failure = outer.Choices[0].Error
	}
	if none := []string{"", "null", "false", `""`, "{}"}; outer.Candidates != nil ||
		slices.Contains(none, string(failure)) {
		return nil
	}
	said := readRefusal([]byte(`{"error":` + string(failure) + `}`))
	status, named := said.status, 400 <= said.status && said.status <= 599
	if !named {
		status = res.StatusCode
	}
	e := t.classify(status, said, res.Header, now)
	if !named && e.Kind == ErrInvalid { // the status is that of the success
		e.Kind = ErrUnavailable
	}
	return e
}

// classify returns the error for what a provider said with a status.
func (t *Transport) classify(status int, said providerError, header http.Header, now time.Time) *Error {
	e := &Error{Kind: kindOfStatus(status), Provider: t.Provider, Status: status, Message: t.redact(said.message)}
	if code := t.redact(said.code); codePattern.MatchString(code) {
		e.Code = code
	}
	e.TooLong = status == 413 || status == 429 && strings.HasPrefix(said.message, "Request too large") ||
		(status == 400 || status == 422) && tooLongPattern.MatchString(said.code+" "+said.message)
	switch {
	case said.code == "API_KEY_INVALID": // Google answers 400 to a wrong key
		e.Kind = ErrAuth
	case said.code == "FAILED_PRECONDITION" && status == 400: // Google: a country that it does not serve
		e.Kind = ErrAuth
	case slices.Contains(blockedCodes, said.code), said.message == "Content Exists Risk", said.flagged:
		e.Kind = ErrBlocked
	case cutPattern.MatchString(said.message), cutPattern.MatchString(said.attempt):
		e.Kind = ErrCut
	case e.TooLong && status == 429: // OpenAI: more than a whole minute's tokens, so no wait helps
		e.Kind = ErrInvalid
		return e
	case said.code == "json_validate_failed": // Groq's model wrote no JSON, but may do so next time
		e.Kind = ErrEmpty
	case slices.Contains(quotaCodes, said.code), status == 429 && header.Get("Retry-After") == "" &&
		quotaPattern.MatchString(said.code+" "+said.message):
		// Google sends a wait of half a minute with a daily quota, too. It is left out.
		e.Kind = ErrQuota
		return e
	}
	e.RetryAfter = retryAfter(header, now)
	if e.RetryAfter == 0 {
		e.RetryAfter = clampWait(said.wait)
	}
	return e
}

var (
	// blockedCodes are the codes by which Azure, OpenAI and Alibaba refuse a prompt's content,
	// with 400. DeepSeek has no code for it, only a message.
	blockedCodes = []string{"content_filter", "content_policy_violation", "invalid_prompt", "data_inspection_failed"}
	// cutPattern matches the 400 of OpenAI and Groq for thoughts that took all the tokens, in
	// place of a cut answer: "Could not finish the message because max_tokens or model output
	// limit was reached", "max completion tokens reached before generating a valid document".
	cutPattern = regexp.MustCompile(`^Could not finish the message because max_tokens|max completion tokens reached before`)
	// tooLongPattern matches how OpenAI, llama.cpp, vLLM and Google say that the prompt and the
	// answer's limit exceed the model's window.
	tooLongPattern = regexp.MustCompile(`(?i)context_length_exceeded|exceed_context_size|maximum context length|context size|input token count .*exceeds`)
	// quotaCodes are OpenAI's codes for an account without money. They come with 429, as too
	// many requests do.
	quotaCodes = []string{
		"insufficient_quota", "credit_balance_exhausted", "billing_not_active", "billing_hard_limit_reached",
		"project_spend_limit_exceeded", "organization_spend_limit_exceeded", "organization_usage_limit_exceeded",
	}
	// quotaPattern matches how Google and OpenRouter say in a 429 that the daily quota or the
	// money is used up: GenerateRequestsPerDayPerProjectPerModel-FreeTier, free-models-per-day,
	// "Your prepayment credits are depleted". Groq's daily limits refill every minute and come
	// with a Retry-After.
	quotaPattern = regexp.MustCompile(`(?i)per[- ]?day|credits are depleted|spending cap`)
)

// codePattern matches a provider's name of a failure, as opposed to a message.
var codePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// providerError is what a provider says about a failure.
type providerError struct {
	message string
	// code is the name of the failure, and status its number; both may be missing.
	code   string
	status int
	wait   time.Duration
	// attempt is the answer that Groq could not parse as JSON. flagged: OpenRouter's moderation
	// stopped the prompt.
	attempt string
	flagged bool
}

// readRefusal reads the forms of servers' errors: Google's and OpenAI's object
// (Google's also in a list), Ollama's string, vLLM's bare message and FastAPI's
// detail. An unknown form yields nothing; an unreadable field leaves the others.
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
		for _, v := range d.Violations { // daily and per-minute quotas, in any order
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

// plainText returns a plain-text body, as proxies send it. Pages and unknown JSON would say
// nothing in one line.
func plainText(h http.Header, body []byte) string {
	if media, _, _ := mime.ParseMediaType(h.Get("Content-Type")); media == "text/plain" {
		return string(body[:min(len(body), 4*messageLimit)])
	}
	return ""
}

// retryAfter reads Retry-After (seconds or an HTTP date) and Azure's
// retry-after-ms. A date counts from the server's own Date, if that is set.
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

// redact makes one bounded line of s without the transport's secrets, since servers
// often quote a wrong key.
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
