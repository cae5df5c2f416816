package llm_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"myao/internal/llm"
	"myao/test/llmtest"
)

// How calls fail, for every network adapter, over real HTTP.

func TestRefusals(t *testing.T) {
	echo := "Incorrect API key provided: " + key + "\nheader Authorization: Bearer " + key
	tests := []struct {
		name  string
		reply llmtest.Reply
		kind  error
		retry bool
		after time.Duration
	}{
		{"bad request", llmtest.Fail(400), llm.ErrInvalid, false, 0},
		{"wrong key", llmtest.Reply{Status: 401, Message: echo}, llm.ErrAuth, false, 0},
		{"forbidden", llmtest.Fail(403), llm.ErrAuth, false, 0},
		{"no such model", llmtest.Fail(404), llm.ErrInvalid, false, 0},
		{"timed out there", llmtest.Fail(408), llm.ErrUnavailable, true, 0},
		{"conflict", llmtest.Fail(409), llm.ErrInvalid, false, 0},
		{"too large", llmtest.Fail(413), llm.ErrInvalid, false, 0},
		{"unprocessable", llmtest.Fail(422), llm.ErrInvalid, false, 0},
		{"rate limit", llmtest.Fail(429), llm.ErrRateLimited, true, 0},
		{"rate limit in seconds", llmtest.Reply{Status: 429, RetryAfter: "17"}, llm.ErrRateLimited, true, 17 * time.Second},
		{"rate limit in details", llmtest.Reply{Status: 429, RetryInfo: 37 * time.Second}, llm.ErrRateLimited, true, 37 * time.Second},
		{"broken", llmtest.Fail(500), llm.ErrUnavailable, true, 0},
		{"bad gateway", llmtest.Fail(502), llm.ErrUnavailable, true, 0},
		{"overloaded", llmtest.Reply{Status: 503, RetryAfter: "3"}, llm.ErrUnavailable, true, 3 * time.Second},
		{"gateway timeout", llmtest.Fail(504), llm.ErrUnavailable, true, 0},
		{"redirect", llmtest.Fail(307), llm.ErrInvalid, false, 0},
		{"key invalid by Google", llmtest.Reply{Status: 400, Code: "API_KEY_INVALID"}, llm.ErrAuth, false, 0},
		{"prompt filtered by Azure", llmtest.Reply{Status: 400, Code: "content_filter"}, llm.ErrBlocked, false, 0},
	}
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		for _, tt := range tests {
			s.Reset()
			s.Handle(func(llmtest.Call) llmtest.Reply { return tt.reply })
			_, err := m.Generate(t.Context(), request())
			e := failure(t, err)
			if !errors.Is(err, tt.kind) || e.Retryable() != tt.retry {
				// Only Google sends RetryInfo.
				t.Errorf("%s: got %v, retryable %v", tt.name, err, e.Retryable())
			}
			if c := s.Calls(); len(c) != 1 {
				t.Errorf("%s: got %d attempts, want 1", tt.name, len(c))
			} else if e.RetryAfter != tt.after && (tt.reply.RetryInfo == 0 || c[0].Provider == "gemini") {
				t.Errorf("%s: got Retry-After %v, want %v", tt.name, e.RetryAfter, tt.after)
			}
			if e.Status != tt.reply.Status || e.Message == "" {
				t.Errorf("%s: got status %d, message %q", tt.name, e.Status, e.Message)
			}
		}
	})
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	for name, open := range adapters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stranger := llmtest.New(t, nil)
			here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, stranger.URL+r.URL.Path, http.StatusTemporaryRedirect)
			}))
			t.Cleanup(here.Close)
			_, err := open(t, here.URL).Generate(t.Context(), request())
			if e := failure(t, err); e.Kind != llm.ErrInvalid || e.Status != 307 {
				t.Errorf("got %v, want ErrInvalid with 307", err)
			}
			if c := stranger.Calls(); len(c) != 0 {
				t.Errorf("the redirect was followed: %v", c[0].Header)
			}
		})
	}
}

func TestUnreadableAnswers(t *testing.T) {
	tests := map[string]llmtest.Reply{
		"malformed": {Malformed: true},
		"page":      {Raw: "<html>Service under maintenance</html>"},
		"list":      {Raw: `[{"candidates":[]}]`},
		"null":      {Raw: "null"},
		"too long":  {Raw: `{"x":"` + strings.Repeat("x", llm.BodyLimit) + `"}`},
		"dropped":   {Drop: true},
	}
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		for name, reply := range tests {
			// A first good answer leaves a connection for reuse, on which net/http could retry.
			s.Handle(nil)
			if _, err := m.Generate(t.Context(), request()); err != nil {
				t.Fatal(err)
			}
			s.Reset()
			s.Handle(func(llmtest.Call) llmtest.Reply { return reply })
			_, err := m.Generate(t.Context(), request())
			if e := failure(t, err); e.Kind != llm.ErrUnavailable || !e.Retryable() {
				t.Errorf("%s: got %v, want ErrUnavailable", name, err)
			}
			if n := len(s.Calls()); n != 1 {
				t.Errorf("%s: got %d attempts, want 1", name, n)
			}
		}
	})
}

func TestStoppedAnswers(t *testing.T) {
	tests := []struct {
		name  string
		reply llmtest.Reply
		kind  error
		text  string
	}{
		{"blocked", llmtest.Reply{Blocked: true, InputTokens: 5, OutputTokens: 4}, llm.ErrBlocked, ""},
		{"cut", llmtest.Reply{Text: "half a sen", Cut: true, InputTokens: 5, OutputTokens: 4}, llm.ErrCut, "half a sen"},
		{"cut while thinking", llmtest.Reply{Cut: true, InputTokens: 5, OutputTokens: 1, ThoughtTokens: 3}, llm.ErrCut, ""},
		{"no text", llmtest.Reply{InputTokens: 5, OutputTokens: 4}, llm.ErrEmpty, ""},
		{"blank", llmtest.Reply{Text: " \n", InputTokens: 5, OutputTokens: 4}, llm.ErrEmpty, ""},
	}
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		for _, tt := range tests {
			s.Handle(func(llmtest.Call) llmtest.Reply { return tt.reply })
			res, err := m.Generate(t.Context(), request())
			e := failure(t, err)
			if e.Kind != tt.kind || e.Text != tt.text || res.Text != tt.text {
				t.Errorf("%s: got %v with text %q and %q", tt.name, err, e.Text, res.Text)
			}
			if want := (llm.Usage{Input: 5, Output: 4, Thoughts: tt.reply.ThoughtTokens}); res.Usage != want || e.Usage != want {
				t.Errorf("%s: got usage %v and %v, want %v", tt.name, res.Usage, e.Usage, want)
			}
		}
	})
}

func TestContextEnds(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		s.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Delay: time.Minute} })

		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := m.Generate(gone, request())
		if e := failure(t, err); !errors.Is(err, context.Canceled) || e.Retryable() {
			t.Errorf("cancelled before: got %v, retryable %v", err, e.Retryable())
		}

		s.Reset()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			_, _ = s.Await(ctx, 1)
		}()
		_, err = m.Generate(ctx, request())
		if e := failure(t, err); !errors.Is(err, context.Canceled) || e.Retryable() {
			t.Errorf("cancelled in flight: got %v, retryable %v", err, e.Retryable())
		}

		ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = m.Generate(ctx, request())
		if e := failure(t, err); !errors.Is(err, context.DeadlineExceeded) || !e.Retryable() {
			t.Errorf("timed out: got %v, retryable %v", err, e.Retryable())
		}
	})
}

func TestConnectionRefused(t *testing.T) {
	for name, open := range adapters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := llmtest.Start(nil)
			s.Close()
			_, err := open(t, s.URL).Generate(t.Context(), request())
			if e := failure(t, err); e.Kind != llm.ErrUnavailable || !strings.Contains(err.Error(), "refused") {
				t.Errorf("got %v, want ErrUnavailable, connection refused", err)
			}
		})
	}
}

// The status arrives, but not the whole body.
func TestIncompleteBody(t *testing.T) {
	for name, open := range adapters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, hang := range []bool{false, true} {
				ctx, cancel := context.WithCancel(t.Context())
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					w.Header().Set("Content-Type", "application/json")
					w.Header().Set("Content-Length", "1000")
					_, _ = io.WriteString(w, `{"candidates":[`)
					if hang {
						w.(http.Flusher).Flush()
						cancel()
						<-r.Context().Done()
					}
				}))
				_, err := open(t, s.URL).Generate(ctx, request())
				if e := failure(t, err); e.Kind != llm.ErrUnavailable || errors.Is(err, context.Canceled) != hang {
					t.Errorf("hanging %v: got %v", hang, err)
				}
				s.Close()
				cancel()
			}
		})
	}
}
