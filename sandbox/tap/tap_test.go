package tap

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"myao/test/llmtest"
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

func TestExchangesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	var r history
	const size = maxBytes / 10
	for i := range 100 {
		r.add(fmt.Sprint(i), Exchange{System: strings.Repeat("s", size/2), Answer: strings.Repeat("a", size/2)})
		sum := 0
		for _, k := range r.entries {
			sum += k.bytes()
		}
		if sum != r.bytes || sum > maxBytes {
			t.Fatalf("after %d: %d bytes, counted as %d", i+1, sum, r.bytes)
		}
	}
	if n := len(r.entries); n != 9 || r.entries[8].decision != "99" {
		t.Errorf("%d are kept", n)
	}
	r.add("small", Exchange{Answer: "a"})
	if len(r.of("small")) != 1 || len(r.of("99")) != 1 {
		t.Error("a small one drove a large one out, or is not kept")
	}
}

func TestConcurrentRequests(t *testing.T) {
	each(t, func(t *testing.T, b bundle) {
		b.provider.Handle(func(c llmtest.Call) llmtest.Reply { return llmtest.Text("re: " + c.User) })
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				r := request(fmt.Sprint("id", i%4))
				r.Prompt = fmt.Sprint("question ", i)
				if got, err := b.bot.Generate(t.Context(), r); err != nil || got.Text != "re: "+r.Prompt {
					t.Errorf("got %q, %v", got.Text, err)
				}
				b.Exchanges("id0")
				b.Down()
			})
		}
		wg.Wait()
		for i := range 4 {
			all := b.Exchanges(fmt.Sprint("id", i))
			if len(all) != 10 {
				t.Errorf("%d of 10 are kept", len(all))
			}
			for _, x := range all {
				if x.Answer != "re: "+x.Prompt {
					t.Errorf("to %q was answered %q", x.Prompt, x.Answer)
				}
			}
		}
	})
}
