package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
)

const (
	geminiPath = "/any/v1beta/models/gemini-x:generateContent"
	openaiPath = "/v1/chat/completions"
	claudePath = "/any/v1/messages"

	geminiAsk = `{"systemInstruction":{"parts":[{"text":"S"}]},"contents":[{"role":"user","parts":[{"text":"U"}]}],
		"generationConfig":{"temperature":0.5,"maxOutputTokens":9,"responseMimeType":"application/json","responseSchema":{"type":6}}}`
	openaiAsk = `{"model":"gpt-x","messages":[{"role":"developer","content":"S"},{"role":"user","content":[{"type":"text","text":"U"}]}],
		"temperature":0.5,"max_completion_tokens":9,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":6}}}}`
	claudeAsk = `{"model":"claude-x","system":[{"type":"text","text":"S"}],"messages":[{"role":"user","content":"U"}],
		"temperature":0.5,"max_tokens":9,"output_config":{"format":{"type":"json_schema","schema":{"type":6}}}}`
)

func post(t *testing.T, s *Running, path, body string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Goog-Api-Key", "g")
	req.Header.Set("Authorization", "Bearer o")
	req.Header.Set("X-Api-Key", "a")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

func TestRecordsEveryProtocol(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ provider, model, path, body string }{
		{"gemini", "gemini-x", geminiPath, geminiAsk},
		{"openai", "gpt-x", openaiPath, openaiAsk},
		{"anthropic", "claude-x", claudePath, claudeAsk},
	} {
		s := New(t, nil)
		began := time.Now()
		if status, body, err := post(t, s, tt.path, tt.body); status != 200 || err != nil {
			t.Fatalf("%s: got %d %s %v", tt.provider, status, body, err)
		}
		c := s.Calls()[0]
		if c.Provider != tt.provider || c.Model != tt.model || c.System != "S" || c.User != "U" || c.N != 1 || c.Path != tt.path {
			t.Errorf("%s: got %+v", tt.provider, c)
		}
		if c.Temperature == nil || *c.Temperature != 0.5 || c.MaxTokens == nil || *c.MaxTokens != 9 {
			t.Errorf("%s: got temperature %v, limit %v", tt.provider, c.Temperature, c.MaxTokens)
		}
		if !c.Judgment() || string(c.Schema) != `{"type":6}` || string(c.Body) != tt.body {
			t.Errorf("%s: got schema %s", tt.provider, c.Schema)
		}
		if c.At.Before(began) || c.At.After(time.Now()) || c.Header.Get("Authorization") == "" {
			t.Errorf("%s: got time %v, headers %v", tt.provider, c.At, c.Header)
		}
	}
}

func TestRefusesWhatProvidersRefuse(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	for _, tt := range []struct {
		path, body string
		want       int
	}{
		{geminiPath, `{`, 400},
		{geminiPath, `{}`, 400},
		{geminiPath, `{"contents":[{"role":"user"}]}`, 400},
		{geminiPath, `{"contents":[{"role":"user","parts":[{"text":"U"}]},{"role":"model","parts":[{"text":"M"}]}]}`, 400},
		{geminiPath, `{"contents":[{"parts":[{"text":"U"}]}],"generationConfig":{"responseSchema":{}}}`, 400},
		{geminiPath, ordered(`["a"]`), 400},
		{geminiPath, ordered(`["a","b","c"]`), 400},
		{geminiPath, ordered(`["a","a"]`), 400},
		{geminiPath, ordered(`"a"`), 400},
		{openaiPath, `{`, 400},
		{openaiPath, `{"model":"m","messages":[]}`, 400},
		{openaiPath, `{"messages":[{"role":"user","content":"U"}]}`, 400},
		{openaiPath, `{"model":"m","stream":true,"messages":[{"role":"user","content":"U"}]}`, 400},
		{openaiPath, `{"model":"m","messages":[{"role":"user","content":"U"}],"response_format":{"type":"json_schema"}}`, 400},
		{claudePath, `{`, 400},
		{claudePath, `{"model":"m","max_tokens":9,"messages":[]}`, 400},
		{claudePath, `{"model":"m","messages":[{"role":"user","content":"U"}]}`, 400},
		{claudePath, `{"max_tokens":9,"messages":[{"role":"user","content":"U"}]}`, 400},
		{claudePath, `{"model":"m","max_tokens":9,"messages":[{"role":"system","content":"S"}]}`, 400},
		{claudePath, `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"U"}]}`, 400},
		{claudePath, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"U"}],"output_config":{"format":{"type":"json_schema"}}}`, 400},
		{"/v1/responses", `{}`, 404},
		{"/v1beta/models/m:streamGenerateContent", `{}`, 404},
	} {
		if got, _, err := post(t, s, tt.path, tt.body); got != tt.want || err != nil {
			t.Errorf("%s %s: got %d, %v, want %d", tt.path, tt.body, got, err, tt.want)
		}
	}
	if n := len(s.Calls()); n != 0 {
		t.Errorf("got %d calls recorded", n)
	}
}

// ordered is a request of Gemini with an order of the properties b and a.
func ordered(order string) string {
	schema := `{"type":6,"properties":{"b":{"type":1},"a":{"type":1}},"propertyOrdering":` + order + `}`
	return strings.Replace(geminiAsk, `{"type":6}`, schema, 1)
}

func TestOrderOfProperties(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ path, body, want string }{
		{geminiPath, ordered(`["b","a"]`), "b a"},
		{geminiPath, ordered(`null`), "a b"}, // as Gemini may write them
		{geminiPath, geminiAsk, ""},
		{openaiPath, strings.Replace(openaiAsk, `{"type":6}`, `{"properties":{"b":{},"a":{}}}`, 1), "b a"},
		{claudePath, strings.Replace(claudeAsk, `{"type":6}`, `{"properties":{"b":{},"a":{}}}`, 1), "b a"},
	} {
		s := New(t, nil)
		if status, body, err := post(t, s, tt.path, tt.body); status != 200 || err != nil {
			t.Fatalf("%s: got %d %s %v", tt.body, status, body, err)
		}
		if got := strings.Join(s.Calls()[0].Properties(), " "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.body, got, tt.want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reply Reply
		want  string
	}{
		{Yes("asked", 0.9, 0), `{"should_respond":true,"reason":"asked","confidence":0.9,"delay_seconds":0}`},
		{Yes("asked", 0.5, -1), `{"should_respond":true,"reason":"asked","confidence":0.5,"delay_seconds":null}`},
		{No("quiet"), `{"should_respond":false,"reason":"quiet","confidence":0.9,"delay_seconds":null}`},
		{Verdict(chat.Verdict{ShouldRespond: true, Reason: "asked", Confidence: 0.5, Addressee: "me", Gist: "yes"}),
			`{"addressee":"me","gist":"yes","should_respond":true,"reason":"asked","confidence":0.5,"delay_seconds":null}`},
		{Default(Call{Schema: json.RawMessage(`{}`)}), `{"should_respond":false,"reason":"llmtest: nothing scripted","confidence":0.9,"delay_seconds":null}`},
		{Default(Call{}), "ok"},
	} {
		if tt.reply.Text != tt.want {
			t.Errorf("got %s, want %s", tt.reply.Text, tt.want)
		}
	}
}

func TestScriptRepeatsItsLastReply(t *testing.T) {
	t.Parallel()
	s := New(t, Script(Fail(503), Reply{Drop: true}, Text("there")))
	if got, _, _ := post(t, s, openaiPath, openaiAsk); got != 503 {
		t.Errorf("got %d first", got)
	}
	if _, _, err := post(t, s, openaiPath, openaiAsk); err == nil {
		t.Error("the connection was not dropped")
	}
	for range 2 {
		if got, body, _ := post(t, s, openaiPath, openaiAsk); got != 200 || !strings.Contains(body, `"content":"there"`) {
			t.Errorf("got %d %s", got, body)
		}
	}
}

func TestAwaitAndConcurrency(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	const n = 50
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if got, _, err := post(t, s, openaiPath, openaiAsk); got != 200 || err != nil {
				t.Errorf("got %d, %v", got, err)
			}
		})
	}
	calls, err := s.Await(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for i, c := range calls {
		if c.N != i+1 {
			t.Errorf("call %d has number %d", i+1, c.N)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.Await(ctx, n+1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	s.Reset()
	if len(s.Calls()) != 0 {
		t.Error("Reset kept the calls")
	}
}

func TestCloseEndsDelays(t *testing.T) {
	t.Parallel()
	s := Start(func(Call) Reply { return Reply{Delay: time.Hour} })
	done := make(chan error, 1)
	go func() {
		_, _, err := post(t, s, openaiPath, openaiAsk)
		done <- err
	}()
	if _, err := s.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := <-done; err == nil {
		t.Error("the delayed call was answered")
	}
}
