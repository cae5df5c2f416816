package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answering(status int, header http.Header, body string) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		if header == nil {
			header = http.Header{}
		}
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
}

func send(t *testing.T, tr *Transport) (*http.Response, *Error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x.invalid/y", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := tr.RoundTrip(req)
	if len(req.Header) != 0 {
		t.Errorf("the caller's request was changed: %v", req.Header)
	}
	if err == nil {
		return res, nil
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T, want *Error", err)
	}
	return nil, e
}

func TestRefusalMessages(t *testing.T) {
	html := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	text := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	tests := []struct {
		name   string
		header http.Header
		body   string
		want   string
	}{
		{"OpenAI and Google", nil, `{"error":{"message":"no such model","code":404}}`, "no such model"},
		{"Google in a list", nil, `[{"error":{"message":"no such model"}}]`, "no such model"},
		{"Ollama", nil, `{"error":"model not found"}`, "model not found"},
		{"vLLM", nil, `{"object":"error","message":"too long","code":400}`, "too long"},
		{"FastAPI", nil, `{"detail":"Not Found"}`, "Not Found"},
		{"FastAPI with a list", nil, `{"detail":[{"loc":["body"]}]}`, ""},
		{"page", html, `<html>502 Bad Gateway</html>`, ""},
		{"plain text", text, "upstream\r\nconnect error\x00", "upstream connect error"},
		{"nothing", nil, "", ""},
		{"key quoted back", nil, `{"error":{"message":"wrong key sk-1 in Bearer sk-1"}}`, "wrong key [key] in [key]"},
		{"bounded", nil, `{"error":{"message":"` + strings.Repeat("あ", 5000) + `"}}`, strings.Repeat("あ", messageLimit) + "…"},
	}
	for _, tt := range tests {
		_, e := send(t, &Transport{
			Base:        answering(400, tt.header, tt.body),
			Credentials: http.Header{"Authorization": {"Bearer sk-1"}},
		})
		if e == nil || e.Message != tt.want || e.Status != 400 {
			t.Errorf("%s: got %+v, want message %q", tt.name, e, tt.want)
		}
	}
}

// Code is the provider's name of a failure, and never its message.
func TestRefusalCodes(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"no","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`:               "insufficient_quota",
		`{"error":{"message":"no","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`: "context_length_exceeded",
		`{"error":{"code":400,"message":"no","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`:  "exceed_context_size_error",
		`{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}`:                                             "INVALID_ARGUMENT",
		`[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_EXPIRED"}]}}]`:  "API_KEY_EXPIRED",
		`{"object":"error","message":"no","type":"BadRequestError","param":null,"code":400}`:                            "BadRequestError",
		`{"error":{"message":"no","code":"PRIVATE words"}}`:                                                             "",
		`{"error":{"message":"no","code":"sk-1"}}`:                                                                      "",
		`{"error":{"message":"no","type":"` + strings.Repeat("x", 65) + `"}}`:                                           "",
		`{"error":"no"}`: "",
	} {
		_, e := send(t, &Transport{Base: answering(400, nil, body), Credentials: http.Header{"Authorization": {"Bearer sk-1"}}})
		if e == nil || e.Code != want || e.Message != "no" {
			t.Errorf("%s: got %+v, want code %q", body, e, want)
		}
		if e != nil && want != "" && !strings.HasSuffix(e.Brief(), "(HTTP 400, "+want+")") {
			t.Errorf("%s: got %q", body, e.Brief())
		}
	}
}

// A 400 or 403 does not always mean that the request or the key is wrong.
func TestRefusalsWithAMisleadingStatus(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		kind   error
	}{
		{"thoughts took OpenAI's tokens", 400, `{"error":{"message":"Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.","type":"invalid_request_error","param":null,"code":null}}`, ErrCut},
		{"thoughts took Groq's tokens", 400, `{"error":{"message":"Failed to validate JSON. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"json_validate_failed","failed_generation":"max completion tokens reached before generating a valid document"}}`, ErrCut},
		{"Groq's model wrote no JSON", 400, `{"error":{"message":"Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"json_validate_failed","failed_generation":"Sure! {"}}`, ErrEmpty},
		{"a limit that is too high", 400, "{\"error\":{\"message\":\"`max_completion_tokens` must be less than or equal to `8192`\",\"type\":\"invalid_request_error\",\"param\":\"max_completion_tokens\"}}", ErrInvalid},
		{"a country that Google does not serve", 400, `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`, ErrAuth},
		{"a schema that Google does not know", 400, `{"error":{"code":400,"message":"Invalid JSON payload received.","status":"INVALID_ARGUMENT"}}`, ErrInvalid},
		{"Azure's filter", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"jailbreak":{"filtered":true,"detected":true}}}}}`, ErrBlocked},
		{"OpenAI's filter", 400, `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","param":null,"code":"invalid_prompt"}}`, ErrBlocked},
		{"Alibaba's filter", 400, `{"error":{"message":"Input data may contain inappropriate content.","type":"data_inspection_failed","param":null,"code":"data_inspection_failed"}}`, ErrBlocked},
		{"DeepSeek's filter", 400, `{"error":{"message":"Content Exists Risk","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, ErrBlocked},
		{"OpenRouter's filter", 403, `{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged","metadata":{"reasons":["violence"],"flagged_input":"PRIVATE","provider_name":"x","model_slug":"m"}}}`, ErrBlocked},
		{"OpenRouter's key", 403, `{"error":{"code":403,"message":"Key limit exceeded","metadata":{"provider_name":null}}}`, ErrAuth},
		{"somebody who says so", 400, `{"error":{"message":"no such model: Content Exists Risk","code":"model_not_found"}}`, ErrInvalid},
	}
	for _, tt := range tests {
		_, e := send(t, &Transport{Base: answering(tt.status, nil, tt.body)})
		if e == nil || e.Kind != tt.kind || e.Status != tt.status || strings.Contains(e.Error(), "PRIVATE") {
			t.Errorf("%s: got %v, want %v", tt.name, e, tt.kind)
		}
	}
}

// TooLong is set only for requests beyond the window.
func TestTooLong(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		body   string
		want   bool
	}{
		"OpenAI":            {400, `{"error":{"message":"This model's maximum context length is 16385 tokens. However, your messages resulted in 30000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, true},
		"vLLM":              {400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, 500 in the completion).","type":"BadRequestError","param":null,"code":400}`, true},
		"llama.cpp":         {400, `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`, true},
		"Gemini":            {400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, true},
		"Groq":              {413, `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000","type":"tokens","code":"rate_limit_exceeded"}}`, true},
		"a minute's tokens": {429, `{"error":{"message":"Request too large for gpt-x in organization org-x on tokens per min (TPM): Limit 30000, Requested 41000.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, true},
		"as a success":      {200, `{"error":{"message":"This endpoint's maximum context length is 8192 tokens.","code":400}}`, true},
		"no such parameter": {400, `{"error":{"message":"Unsupported value: 'temperature'","type":"invalid_request_error","code":"unsupported_value"}}`, false},
		"an outage":         {503, `{"error":{"message":"maximum context length"}}`, false},
	} {
		_, e := send(t, &Transport{Base: answering(tt.status, nil, tt.body)})
		if e == nil || e.TooLong != tt.want || e.Retryable() != (tt.status == 503) {
			t.Errorf("%s: got %+v, want too long %v", name, e, tt.want)
		}
	}
}

// A used-up daily quota or an account without money is not a rate limit.
func TestQuota(t *testing.T) {
	google := func(message, ids string) string {
		return `{"error":{"code":429,"message":"` + message + `","status":"RESOURCE_EXHAUSTED","details":[
			{"@type":"type.googleapis.com/google.rpc.Help","links":[{"description":"Learn more","url":"https://ai.google.dev/gemini-api/docs/rate-limits"}]},
			{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[` + ids + `]},
			{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"22s"}]}}`
	}
	const (
		perDay    = `{"quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_requests","quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaDimensions":{"location":"global","model":"m"},"quotaValue":"250"}`
		perMinute = `{"quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_requests","quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier","quotaDimensions":{"model":"m"},"quotaValue":"10"}`
	)
	tests := []struct {
		name   string
		status int
		header http.Header
		body   string
		kind   error
		code   string
		after  time.Duration
	}{
		{"Gemini, daily quota", 429, nil, google("You exceeded your current quota.", perDay), ErrQuota, "GenerateRequestsPerDayPerProjectPerModel-FreeTier", 0},
		{"Gemini, daily quota before a rate limit", 429, nil, google("You exceeded your current quota.", perDay+","+perMinute), ErrQuota, "GenerateRequestsPerDayPerProjectPerModel-FreeTier", 0},
		{"Gemini, daily quota after a rate limit", 429, nil, google("You exceeded your current quota.", perMinute+","+perDay), ErrQuota, "GenerateRequestsPerDayPerProjectPerModel-FreeTier", 0},
		{"Gemini, rate limit", 429, nil, google("You exceeded your current quota.", perMinute), ErrRateLimited, "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", 22 * time.Second},
		{"Gemini, prepaid credits", 429, nil, `{"error":{"code":429,"message":"Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.","status":"RESOURCE_EXHAUSTED"}}`, ErrQuota, "RESOURCE_EXHAUSTED", 0},
		{"Gemini, spending cap", 429, nil, `{"error":{"code":429,"message":"Your billing account has exceeded its monthly spending cap","status":"RESOURCE_EXHAUSTED"}}`, ErrQuota, "RESOURCE_EXHAUSTED", 0},
		{"Gemini, no details", 429, nil, `{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}`, ErrRateLimited, "RESOURCE_EXHAUSTED", 0},
		{"OpenAI, no money", 429, nil, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, ErrQuota, "insufficient_quota", 0},
		{"OpenAI, no money left", 429, http.Header{"Retry-After": {"1"}}, `{"error":{"message":"no","type":"insufficient_quota","code":"credit_balance_exhausted"}}`, ErrQuota, "credit_balance_exhausted", 0},
		{"OpenAI, rate limit", 429, http.Header{"Retry-After": {"7"}}, `{"error":{"message":"Rate limit reached on tokens per min (TPM): Limit 30000. Please try again in 6.1s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, ErrRateLimited, "rate_limit_exceeded", 7 * time.Second},
		{"OpenRouter, daily quota", 429, nil, `{"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"50","X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1741305600000"},"provider_name":null}}}`, ErrQuota, "", 0},
		{"OpenRouter, daily quota in a success", 200, nil, `{"error":{"message":"Rate limit exceeded: free-models-per-day. ","code":429}}`, ErrQuota, "", 0},
		{"OpenRouter, rate limit", 429, nil, `{"error":{"message":"Rate limit exceeded: free-models-per-min. ","code":429}}`, ErrRateLimited, "", 0},
		{"OpenRouter, no money", 402, nil, `{"error":{"message":"Insufficient credits","code":402}}`, ErrQuota, "", 0},
		{"DeepSeek, no money", 402, nil, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, ErrQuota, "invalid_request_error", 0},
		{"Groq, daily limit that refills every minute", 429, http.Header{"Retry-After": {"432"}}, `{"error":{"message":"Rate limit reached on tokens per day (TPD): Limit 500000. Please try again in 7m12s.","type":"tokens","code":"rate_limit_exceeded"}}`, ErrRateLimited, "rate_limit_exceeded", 432 * time.Second},
	}
	for _, tt := range tests {
		_, e := send(t, &Transport{Base: answering(tt.status, tt.header, tt.body)})
		if e == nil || e.Kind != tt.kind || e.Code != tt.code || e.RetryAfter != tt.after {
			t.Errorf("%s: got %+v, want %v, %q, %v", tt.name, e, tt.kind, tt.code, tt.after)
		}
	}
}

// An error inside an HTTP success is an error with the provider's message.
func TestErrorsInsideASuccess(t *testing.T) {
	tests := []struct {
		name, body string
		kind       error // nil: an answer
		status     int
		message    string
	}{
		{"a provider behind a router fails", `{"error":{"message":"Provider returned error","code":502,"metadata":{"provider_name":"x"}},"user_id":"u"}`, ErrUnavailable, 502, "Provider returned error"},
		{"a provider behind a router limits the rate", `{"id":"gen-1","error":{"code":429,"message":"slow down"}}`, ErrRateLimited, 429, "slow down"},
		{"the number is a text", `{"error":{"message":"slow down","type":"rate_limit_error","code":"429"}}`, ErrRateLimited, 429, "slow down"},
		{"it fails while it writes", `{"id":"gen-1","choices":[{"index":0,"finish_reason":"error","message":{"role":"assistant","content":"hel"},
			"error":{"code":503,"message":"overloaded"}}]}`, ErrUnavailable, 503, "overloaded"},
		{"an unknown path", `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`, ErrUnavailable, 200, "Unexpected endpoint or method. (POST /chat/completions)"},
		{"no number", `{"error":{"message":"busy","type":"server_error"}}`, ErrUnavailable, 200, "busy"},
		{"a number of its own", `{"error":{"message":"busy","code":1305}}`, ErrUnavailable, 200, "busy"},
		{"a list", `{"error":{"code":400,"message":["too","long"]},"choices":[]}`, ErrInvalid, 400, ""},
		{"an answer, and no error", `{"error":null,"choices":[{"error":null,"message":{"content":"hi"}}]}`, nil, 0, ""},
		{"an answer, and an empty error", `{"error":{},"choices":[{"message":{"content":"hi"}}]}`, nil, 0, ""},
		{"an answer and an error", `{"error":{"message":"a warning"},"choices":[{"message":{"content":"hi"}}]}`, nil, 0, ""},
		{"an answer of Gemini's", `{"candidates":[{"content":{"parts":[{"text":"hi"}]}}]}`, nil, 0, ""},
	}
	for _, tt := range tests {
		res, e := send(t, &Transport{Base: answering(200, http.Header{"Content-Type": {"application/json"}}, tt.body)})
		switch {
		case tt.kind == nil && (e != nil || res == nil):
			t.Errorf("%s: got %v, want an answer", tt.name, e)
		case tt.kind != nil && (e == nil || e.Kind != tt.kind || e.Status != tt.status || e.Message != tt.message):
			t.Errorf("%s: got %+v, want %v", tt.name, e, tt.kind)
		}
	}
}

func TestAnswersThatAreNotJSON(t *testing.T) {
	for media, want := range map[string]string{
		"text/html; charset=utf-8": "read answer: not a JSON object but text/html",
		"text/event-stream":        "read answer: not a JSON object but text/event-stream",
		"":                         "read answer: not a JSON object but an unknown type",
	} {
		_, e := send(t, &Transport{Base: answering(200, http.Header{"Content-Type": {media}}, "data: {}\n\n")})
		if e == nil || e.Kind != ErrUnavailable || e.Message != want {
			t.Errorf("%s: got %+v, want %q", media, e, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	detail := func(delay string) string {
		return `{"error":{"code":429,"message":"quota","details":[{"@type":"x","reason":"RATE"},{"retryDelay":"` + delay + `"}]}}`
	}
	tests := []struct {
		name   string
		header map[string]string
		body   string
		want   time.Duration
	}{
		{"none", nil, "", 0},
		{"seconds", map[string]string{"Retry-After": "12"}, "", 12 * time.Second},
		{"part of a second", map[string]string{"Retry-After": "0.5"}, "", 500 * time.Millisecond},
		{"milliseconds", map[string]string{"Retry-After-Ms": "250", "Retry-After": "1"}, "", 250 * time.Millisecond},
		{"date", map[string]string{"Retry-After": now.Add(90 * time.Second).Format(http.TimeFormat)}, "", 90 * time.Second},
		{"date by the server's clock", map[string]string{
			"Retry-After": now.Add(time.Hour + time.Minute).Format(http.TimeFormat),
			"Date":        now.Add(time.Hour).Format(http.TimeFormat),
		}, "", time.Minute},
		{"past date", map[string]string{"Retry-After": now.Add(-time.Hour).Format(http.TimeFormat)}, "", 0},
		{"negative", map[string]string{"Retry-After": "-5"}, "", 0},
		{"absurd", map[string]string{"Retry-After": "1e300"}, "", retryAfterLimit},
		{"not a number", map[string]string{"Retry-After": "NaN"}, "", 0},
		{"nonsense", map[string]string{"Retry-After": "soon"}, "", 0},
		{"details", nil, detail("37.5s"), 37500 * time.Millisecond},
		{"details in a list", nil, "[" + detail("2s") + "]", 2 * time.Second},
		{"details absurd", nil, detail("999999h"), retryAfterLimit},
		{"header before details", map[string]string{"Retry-After": "3"}, detail("37s"), 3 * time.Second},
	}
	for _, tt := range tests {
		h := http.Header{}
		for name, v := range tt.header {
			h.Set(name, v)
		}
		_, e := send(t, &Transport{Base: answering(429, h, tt.body), Now: func() time.Time { return now }})
		if e == nil || e.RetryAfter != tt.want {
			t.Errorf("%s: got %+v, want %v", tt.name, e, tt.want)
		}
	}
}

func TestSuccessIsCompleteJSON(t *testing.T) {
	var sent http.Header
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = r.Header
		return answering(200, http.Header{"Content-Type": {"text/plain"}}, " {\"a\":1}\n")(r)
	})
	tr := &Transport{Base: base, Credentials: http.Header{"X-Key": {"k"}},
		Rewrite: func(_ context.Context, b []byte) ([]byte, error) { return append(b, ' '), nil }}
	res, e := send(t, tr)
	if e != nil {
		t.Fatal(e)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != `{"a":1} ` || res.ContentLength != int64(len(body)) {
		t.Errorf("got %q of %d, %v", body, res.ContentLength, err)
	}
	if got := res.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("got content type %q", got)
	}
	if sent.Get("X-Key") != "k" {
		t.Errorf("the credentials were not sent: %v", sent)
	}
}

// Base may send a body again, on another connection.
func TestRewrittenRequests(t *testing.T) {
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		first, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		for range 2 {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			again, err := io.ReadAll(body)
			if err != nil || string(first) != `{"a":1}` || string(again) != string(first) || r.ContentLength != int64(len(first)) {
				t.Errorf("sent %q, then %q, of %d bytes, %v", first, again, r.ContentLength, err)
			}
		}
		return answering(200, nil, "{}")(r)
	})
	tr := &Transport{Base: base, RewriteRequest: func(_ context.Context, b []byte) ([]byte, error) {
		if string(b) != "{}" {
			t.Errorf("the library's body is %q", b)
		}
		return []byte(`{"a":1}`), nil
	}}
	if _, e := send(t, tr); e != nil {
		t.Error(e)
	}
	tr.RewriteRequest = func(context.Context, []byte) ([]byte, error) { return nil, errors.New("not a schema") }
	if _, e := send(t, tr); e == nil || e.Kind != ErrUnavailable || !strings.Contains(e.Message, "not a schema") {
		t.Errorf("got %v", e)
	}
}

func TestFailureHidesSecrets(t *testing.T) {
	tr := &Transport{Provider: "p", Credentials: http.Header{"Authorization": {"Bearer sk-1"}}}
	cause := errors.New("proxy said: Bearer sk-1 and sk-1")
	wrapped := &url.Error{Op: "Post", URL: "https://x/y?api-key=hidden", Err: cause}
	if got, want := tr.Failure(t.Context(), wrapped).Error(), "p: unavailable: proxy said: [key] and [key]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	known := &Error{Kind: ErrBlocked}
	if got := tr.Failure(t.Context(), &url.Error{Err: known}); got != known {
		t.Errorf("got %v, want the error inside", got)
	}
	timeout := &url.Error{Op: "Post", URL: "https://x", Err: context.DeadlineExceeded}
	if got := tr.Failure(t.Context(), timeout); !errors.Is(got, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline to stay visible", got)
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := tr.Failure(ended, errors.New("use of closed connection")); !errors.Is(got, context.Canceled) {
		t.Errorf("got %v, want what ended the call and not what broke of it", got)
	}
}

func TestDefaultTransport(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	base := DefaultTransport()
	if base == http.DefaultTransport || base.Proxy == nil || base.HTTP2.SendPingTimeout == 0 {
		t.Errorf("got %+v", base)
	}
	base.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	tr := &Transport{Base: base}
	t.Cleanup(tr.CloseIdleConnections)
	res, err := tr.RoundTrip(req)
	if err != nil || res.ProtoMajor != 2 {
		t.Errorf("got %+v, %v, want HTTP/2", res, err)
	}
}
