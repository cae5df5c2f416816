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
		{"date gone by", map[string]string{"Retry-After": now.Add(-time.Hour).Format(http.TimeFormat)}, "", 0},
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

func TestSuccessIsWholeJSON(t *testing.T) {
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

func TestFailureTellsNoSecrets(t *testing.T) {
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
