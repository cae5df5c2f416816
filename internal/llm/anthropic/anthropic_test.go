package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"myao/internal/llm"
	"myao/internal/llm/llmtest"
)

func setup(t *testing.T, handler llmtest.Handler) (*Model, *llmtest.Running) {
	t.Helper()
	s := llmtest.New(t, handler)
	m, err := New(Config{APIKey: "sk-secret\n", BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, s
}

func request() llm.Request {
	return llm.Request{Purpose: llm.PurposeJudgment, Model: "claude-x", System: "Context.", Prompt: "Judge."}
}

func TestWire(t *testing.T) {
	t.Parallel()
	m, s := setup(t, nil)
	r := request()
	r.MaxOutputTokens = 500
	r.Schema = llm.VerdictSchema(600)
	res, err := m.Generate(t.Context(), r)
	if err != nil || !strings.Contains(res.Text, `"should_respond":false`) {
		t.Fatalf("got %q, %v", res.Text, err)
	}
	c := s.Calls()[0]
	if got := c.Header.Values("X-Api-Key"); !reflect.DeepEqual(got, []string{"sk-secret"}) || c.Header.Get("Authorization") != "" {
		t.Errorf("got the keys %q and %q", got, c.Header.Get("Authorization"))
	}
	want := fmt.Sprintf(`{"model":"claude-x","max_tokens":500,"system":[{"type":"text","text":"Context."}],
		"messages":[{"role":"user","content":[{"type":"text","text":"Judge."}]}],
		"output_config":{"format":{"type":"json_schema","schema":%s}}}`, r.Schema.JSONSchema())
	var got, expected any
	if err := errors.Join(json.Unmarshal(c.Body, &got), json.Unmarshal([]byte(want), &expected)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("got  %s\nwant %s", c.Body, want)
	}
}

// The API requires a limit of tokens, and the library wants to stream for a high one.
func TestLimitsOfTokens(t *testing.T) {
	t.Parallel()
	m, s := setup(t, nil)
	for asked, want := range map[int]int{0: defaultMaxTokens, 1: 1, 200_000: 200_000} {
		s.Reset()
		r := request()
		r.MaxOutputTokens = asked
		if _, err := m.Generate(t.Context(), r); err != nil {
			t.Errorf("%d: %v", asked, err)
		} else if got := s.Calls()[0].MaxTokens; got == nil || *got != want {
			t.Errorf("%d: got %v, want %d", asked, got, want)
		}
	}
}

func TestBaseURLs(t *testing.T) {
	t.Parallel()
	s := llmtest.New(t, nil)
	for base, want := range map[string]string{
		"":                       "/v1/messages?",
		"/":                      "/v1/messages?",
		"/proxy/anthropic":       "/proxy/anthropic/v1/messages?",
		"/proxy/?api-version=v1": "/proxy/v1/messages?api-version=v1",
	} {
		m, err := New(Config{BaseURL: s.URL + base})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Generate(t.Context(), request()); err != nil {
			t.Fatalf("%q: %v", base, err)
		}
		calls := s.Calls()
		c := calls[len(calls)-1]
		if got := c.Path + "?" + c.Query; got != want {
			t.Errorf("%q: got %s, want %s", base, got, want)
		}
		if _, sent := c.Header["X-Api-Key"]; sent {
			t.Error("an empty key was sent")
		}
	}
}

// captured returns the request to a host that a test must not reach.
func captured(t *testing.T, c Config) *http.Request {
	t.Helper()
	var asked *http.Request
	c.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = r
		_, _ = io.Copy(io.Discard, r.Body)
		return nil, errors.New("no network in tests")
	})
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Generate(t.Context(), request()); !errors.Is(err, llm.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	if asked == nil {
		t.Fatal("nothing was sent")
	}
	return asked
}

// Not parallel: it sets the environment.
func TestEnvironmentIsNotRead(t *testing.T) {
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "sk-env", "ANTHROPIC_AUTH_TOKEN": "token-env", "ANTHROPIC_BASE_URL": "https://env.example",
		"ANTHROPIC_PROFILE": "env", "ANTHROPIC_WORKSPACE_ID": "env", "ANTHROPIC_CUSTOM_HEADERS": "X-Env: env-header\nX-Api-Key: sk-env",
	} {
		t.Setenv(name, value)
	}
	for name, c := range map[string]struct {
		Config
		url string
	}{
		"with a key": {Config{APIKey: "sk-config"}, "https://api.anthropic.com/v1/messages"},
		"without":    {Config{BaseURL: "http://localhost:11434"}, "http://localhost:11434/v1/messages"},
	} {
		asked := captured(t, c.Config)
		if asked.URL.String() != c.url {
			t.Errorf("%s: sent to %s, want %s", name, asked.URL, c.url)
		}
		for header, values := range asked.Header {
			if strings.Contains(strings.Join(values, " "), "env") {
				t.Errorf("%s: sent %s: %v", name, header, values)
			}
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("New took the key of the environment")
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	with := func(content, stop string) string {
		return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"claude-x-001","content":[%s],"stop_reason":%s,
			"usage":{"input_tokens":5,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":55,"output_tokens_details":{"thinking_tokens":50}}}`, content, stop)
	}
	const hello = `{"type":"text","text":"hello"}`
	tests := []struct {
		name string
		raw  string
		kind error // nil: success
		text string
	}{
		{"whole", with(hello, `"end_turn"`), nil, "hello"},
		{"a stop sequence", with(hello, `"stop_sequence"`), nil, "hello"},
		{"no stop reason", with(hello, `null`), nil, "hello"},
		{"blocks are joined", with(`{"type":"text","text":"hel"},{"type":"text","text":"lo"}`, `"end_turn"`), nil, "hello"},
		{"thoughts", with(`{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"x"},`+hello, `"end_turn"`), nil, "hello"},
		{"a block of the future", with(`{"type":"future","text":"hm"},`+hello, `"end_turn"`), nil, "hello"},
		{"thoughts only", with(`{"type":"thinking","thinking":"hm","signature":"c2ln"}`, `"end_turn"`), llm.ErrEmpty, ""},
		{"cut", with(hello, `"max_tokens"`), llm.ErrCut, "hello"},
		{"cut in the thoughts", with(`{"type":"thinking","thinking":"hm"}`, `"max_tokens"`), llm.ErrCut, ""},
		{"the window is full", with(hello, `"model_context_window_exceeded"`), llm.ErrCut, "hello"},
		{"refused", with(hello, `"refusal"`), llm.ErrBlocked, ""},
		{"a tool", with(`{"type":"tool_use","id":"1","name":"f","input":{}}`, `"tool_use"`), llm.ErrEmpty, ""},
		{"paused", with(hello, `"pause_turn"`), llm.ErrEmpty, ""},
		{"an unknown reason", with(hello, `"bad_hair_day"`), llm.ErrEmpty, ""},
		{"blank", with(`{"type":"text","text":" \n"}`, `"end_turn"`), llm.ErrEmpty, ""},
		{"no content", with(``, `"end_turn"`), llm.ErrEmpty, ""},
		{"nothing", `{}`, llm.ErrEmpty, ""},
		{"error with 200", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ErrUnavailable, ""},
	}
	var raw string
	m, s := setup(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Raw: raw} })
	for _, tt := range tests {
		raw = tt.raw
		s.Reset()
		res, err := m.Generate(t.Context(), request())
		if tt.kind == nil && (err != nil || res.Text != tt.text) {
			t.Errorf("%s: got %q, %v, want %q", tt.name, res.Text, err, tt.text)
		}
		if tt.kind != nil {
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || e.Text != tt.text {
				t.Errorf("%s: got %v, want %v with text %q", tt.name, err, tt.kind, tt.text)
			}
		}
		if strings.Contains(raw, "usage") {
			if want := (llm.Usage{Input: 325, Output: 55, Thoughts: 50}); res.Usage != want || res.Model != "claude-x-001" {
				t.Errorf("%s: got usage %v of %q", tt.name, res.Usage, res.Model)
			}
		}
		if n := len(s.Calls()); n != 1 {
			t.Errorf("%s: got %d attempts", tt.name, n)
		}
	}
}

// The explanation of a refusal may quote the prompt.
func TestARefusalNamesItsCategoryOnly(t *testing.T) {
	t.Parallel()
	m, _ := setup(t, func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Raw: `{"content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"bio","explanation":"It says zebrafish."}}`}
	})
	_, err := m.Generate(t.Context(), request())
	if !errors.Is(err, llm.ErrBlocked) || !strings.Contains(err.Error(), "bio") || strings.Contains(err.Error(), "zebrafish") {
		t.Errorf("got %v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"no key for Anthropic":  {},
		"key with a line break": {APIKey: "sec\nret"},
		"base URL not a URL":    {APIKey: "secret", BaseURL: "localhost:11434"},
	} {
		if _, err := New(c); err == nil || strings.Contains(err.Error(), "sec") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
