package tap

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"myao/internal/llm/llmtest"
)

func post(t *testing.T, url, body string) (status int, answer string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

const good = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`

// The tap refuses an unreadable request in the provider's form, and does not forward it.
func TestRefusals(t *testing.T) {
	t.Parallel()
	upstream := llmtest.New(t, nil)
	for name, tap := range map[string]*Tap{"demo": Demo(), "proxy": proxy(t, upstream.URL+"/v1")} {
		address := serve(t, tap)
		for what, c := range map[string]struct {
			body   string
			status int
			says   string
		}{
			"nothing":    {"", 400, "read request"},
			"malformed":  {`{"model":`, 400, "read request"},
			"no object":  {`[1]`, 400, "read request"},
			"no message": {`{"model":"m"}`, 400, "messages"},
			"a stream":   {`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`, 400, "stream"},
			"huge":       {strings.Repeat(" ", maxRequest) + good, 413, "longer than 16 MiB"},
		} {
			status, answer := post(t, address+"/chat/completions", c.body)
			var told struct{ Error struct{ Message string } }
			if err := json.Unmarshal([]byte(answer), &told); err != nil || status != c.status || !strings.Contains(told.Error.Message, c.says) {
				t.Errorf("%s, %s: got %d %s, want %d with %q", name, what, status, answer, c.status, c.says)
			}
		}
		for _, path := range []string{"/", "/responses", "/v1beta/models/m:streamGenerateContent"} {
			if status, _ := post(t, address+path, good); status != 404 {
				t.Errorf("%s, %s: got %d", name, path, status)
			}
		}
		if n := len(tap.history.entries); n != 0 {
			t.Errorf("%s: %d exchanges are kept", name, n)
		}
	}
	if n := len(upstream.Calls()); n != 0 {
		t.Errorf("%d questions passed", n)
	}
}

func TestWebPagesAreRefused(t *testing.T) {
	t.Parallel()
	tap := Demo()
	address := serve(t, tap) + "/chat/completions"
	for origin, want := range map[string]int{"": 200, "https://evil.example": 403, "null": 403} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(good))
		if err != nil {
			t.Fatal(err)
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("from %q: got %d, want %d", origin, resp.StatusCode, want)
		}
	}
	one(t, tap, "")
}

// The sandbox's page receives exchanges in this form.
func TestExchangesAsJSON(t *testing.T) {
	t.Parallel()
	tap := Demo()
	if got, err := json.Marshal(tap.Exchanges("unknown")); err != nil || string(got) != "[]" {
		t.Errorf("none is %s, %v", got, err)
	}
	tap.history.add("x", Exchange{Purpose: "response", Model: "m", System: "s", Prompt: "p", Answer: "a", Error: "e"})
	want := `[{"purpose":"response","model":"m","at":"0001-01-01T00:00:00Z","system":"s","prompt":"p","answer":"a","error":"e"}]`
	if got, err := json.Marshal(tap.Exchanges("x")); err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestTheNewestExchangesAreKept(t *testing.T) {
	t.Parallel()
	tap := Demo()
	bot := adapter(t, "openai", serve(t, tap))
	const more = 7
	for i := range maxExchanges + more {
		r := request(fmt.Sprint("id", i))
		if _, err := bot.Generate(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxExchanges + more {
		if got, want := len(tap.Exchanges(fmt.Sprint("id", i))), map[bool]int{true: 1}[i >= more]; got != want {
			t.Errorf("of question %d %d are kept, want %d", i, got, want)
		}
	}
}
