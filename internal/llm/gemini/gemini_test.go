package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"myao/internal/llm"
	"myao/internal/llm/llmtest"
)

func setup(t *testing.T, handler llmtest.Handler) (*Model, *llmtest.Running) {
	t.Helper()
	s := llmtest.New(t, handler)
	m, err := New(t.Context(), Config{APIKey: "AIza-secret\n", Endpoint: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, s
}

func request() llm.Request {
	return llm.Request{Purpose: llm.PurposeJudgment, Model: "gemini-x", System: "Context.", Prompt: "Judge."}
}

func TestWire(t *testing.T) {
	t.Parallel()
	m, s := setup(t, nil)
	r := request()
	r.MaxOutputTokens = 500
	r.Schema = llm.VerdictSchema(600)
	r.Schema.Properties = append(r.Schema.Properties, llm.Property{Name: "tone", Type: llm.String, Enum: []string{"warm", "dry"}})
	res, err := m.Generate(t.Context(), r)
	if err != nil || !strings.Contains(res.Text, `"should_respond":false`) {
		t.Fatalf("got %q, %v", res.Text, err)
	}
	c := s.Calls()[0]
	if c.Path != "/v1beta/models/gemini-x:generateContent" || strings.Contains(c.Query, "key") {
		t.Errorf("got %s?%s", c.Path, c.Query)
	}
	// Enums come as names, since newer numbers are unknown.
	if q, err := url.ParseQuery(c.Query); err != nil || !reflect.DeepEqual(q, url.Values{"$alt": {"json"}}) {
		t.Errorf("got query %s, %v", c.Query, err)
	}
	if got := c.Header.Values("X-Goog-Api-Key"); !reflect.DeepEqual(got, []string{"AIza-secret"}) {
		t.Errorf("got key header %q", got)
	}
	// Type numbers: string 1, number 2, integer 3, boolean 4, object 6.
	want := `{"model":"models/gemini-x",
		"systemInstruction":{"parts":[{"text":"Context."}]},
		"contents":[{"role":"user","parts":[{"text":"Judge."}]}],
		"generationConfig":{"maxOutputTokens":500,"responseMimeType":"application/json","responseSchema":{"type":6,
			"required":["addressee","gist","reason","should_respond","confidence","delay_seconds","tone"],
			"propertyOrdering":["addressee","gist","reason","should_respond","confidence","delay_seconds","tone"],
			"properties":{
				"addressee":{"type":1,"format":"enum","enum":["me","someone","everyone","nobody"],"description":"whom the new messages are meant for: me, someone else, everyone, or nobody"},
				"gist":{"type":1,"description":"what you would add, in at most 15 words; empty if there is nothing"},
				"should_respond":{"type":4,"description":"true to speak, false to stay silent"},
				"reason":{"type":1,"description":"one short line: what decided it"},
				"confidence":{"type":2,"description":"how sure, from 0 to 1"},
				"delay_seconds":{"type":3,"nullable":true,"description":"whole seconds to hold back before speaking, from 0 to 600; null when silent"},
				"tone":{"type":1,"format":"enum","enum":["warm","dry"]}}}}}`
	var got, expected any
	if err := errors.Join(json.Unmarshal(c.Body, &got), json.Unmarshal([]byte(want), &expected)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("got  %s\nwant %s", c.Body, want)
	}
	if !c.Judgment() {
		t.Error("the fake does not see a judgment")
	}
}

func TestEndpointPrefixAndSlash(t *testing.T) {
	t.Parallel()
	s := llmtest.New(t, nil)
	for endpoint, want := range map[string]string{
		s.URL + "/":              "/v1beta/models/gemini-x:generateContent",
		s.URL + "/proxy/google/": "/proxy/google/v1beta/models/gemini-x:generateContent",
		s.URL + "/proxy?key=no":  "/proxy/v1beta/models/gemini-x:generateContent",
	} {
		m, err := New(t.Context(), Config{Endpoint: endpoint})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Generate(t.Context(), request()); err != nil {
			t.Fatal(err)
		}
		calls := s.Calls()
		c := calls[len(calls)-1]
		if c.Path != want || strings.Contains(c.Query, "key") {
			t.Errorf("%s: got %s?%s, want %s", endpoint, c.Path, c.Query, want)
		}
		if _, sent := c.Header["X-Goog-Api-Key"]; sent {
			t.Error("an empty key was sent")
		}
		m.Close()
	}
}

// Google may send enums as names or as numbers.
func TestAnswers(t *testing.T) {
	t.Parallel()
	with := func(parts, finish string) string {
		return fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[%s]},"finishReason":%s,"index":0}],
			"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2,"totalTokenCount":60,"thoughtsTokenCount":53},
			"modelVersion":"gemini-x-001"}`, parts, finish)
	}
	hello := `{"text":"hello"}`
	tests := []struct {
		name string
		raw  string
		kind error // nil: success
		text string
	}{
		{"by name", with(hello, `"STOP"`), nil, "hello"},
		{"by number", with(hello, `1`), nil, "hello"},
		{"parts are joined", with(`{"text":"he"},{"text":"llo"}`, `"STOP"`), nil, "hello"},
		{"signature alone", with(hello+`,{"thoughtSignature":"c2ln"}`, `"STOP"`), nil, "hello"},
		{"signature and text", with(`{"text":"hello","thoughtSignature":"c2ln"}`, `"STOP"`), nil, "hello"},
		{"thought", with(`{"text":"let me think","thought":true},`+hello, `"STOP"`), nil, "hello"},
		{"empty part", with(`{},`+hello, `"STOP"`), nil, "hello"},
		{"other parts", with(`{"functionCall":{"name":"f"}},{"functionResponse":{"name":"f"}},{"futureThing":1},`+hello, `"STOP"`), nil, "hello"},
		{"no finish reason", `{"candidates":[{"content":{"parts":[{"text":"hello"}]}}]}`, nil, "hello"},
		{"two candidates", `{"candidates":[{"content":{"parts":[{"text":"hello"}]},"finishReason":1},{"finishReason":3}]}`, nil, "hello"},
		{"thoughts only", with(`{"text":"hm","thought":true}`, `"STOP"`), llm.ErrEmpty, ""},
		{"no parts", with(``, `"STOP"`), llm.ErrEmpty, ""},
		{"cut", with(hello, `"MAX_TOKENS"`), llm.ErrCut, "hello"},
		{"cut by number", with(hello, `2`), llm.ErrCut, "hello"},
		{"cut without parts", with(``, `2`), llm.ErrCut, ""},
		{"cut without content", `{"candidates":[{"finishReason":"MAX_TOKENS"}]}`, llm.ErrCut, ""},
		{"safety", with(hello, `"SAFETY"`), llm.ErrBlocked, ""},
		{"recitation by number", with(hello, `4`), llm.ErrBlocked, ""},
		{"prohibited by name", with(hello, `"PROHIBITED_CONTENT"`), llm.ErrBlocked, ""},
		{"prohibited by number", with(hello, `8`), llm.ErrBlocked, ""},
		{"unknown name", with(hello, `"BAD_HAIR_DAY"`), llm.ErrBlocked, ""},
		{"unknown number", with(hello, `99`), llm.ErrBlocked, ""},
		{"malformed call", with(``, `"MALFORMED_FUNCTION_CALL"`), llm.ErrEmpty, ""},
		{"malformed call by number", with(``, `10`), llm.ErrEmpty, ""},
		{"malformed answer", with(``, `"MALFORMED_RESPONSE"`), llm.ErrEmpty, ""},
		{"calls of tools", with(``, `"TOO_MANY_TOOL_CALLS"`), llm.ErrEmpty, ""},
		{"prompt blocked", `{"promptFeedback":{"blockReason":"SAFETY"}}`, llm.ErrBlocked, ""},
		{"prompt blocked by number", `{"promptFeedback":{"blockReason":2}}`, llm.ErrBlocked, ""},
		{"prompt blocked for an unknown reason", `{"promptFeedback":{"blockReason":"BAD_HAIR_DAY"}}`, llm.ErrBlocked, ""},
		{"prompt not blocked", `{"promptFeedback":{"blockReason":"BLOCK_REASON_UNSPECIFIED"},"candidates":[{"content":{"parts":[{"text":"hello"}]},"finishReason":1}]}`, nil, "hello"},
		{"no candidates", `{"candidates":[]}`, llm.ErrEmpty, ""},
		{"nothing", `{}`, llm.ErrEmpty, ""},
		{"wrong form", `{"candidates":"none"}`, llm.ErrUnavailable, ""},
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
		if strings.Contains(raw, "thoughtsTokenCount") {
			if want := (llm.Usage{Input: 5, Output: 55, Thoughts: 53}); res.Usage != want || res.Model != "gemini-x-001" {
				t.Errorf("%s: got usage %v of %q", tt.name, res.Usage, res.Model)
			}
		}
		if n := len(s.Calls()); n != 1 {
			t.Errorf("%s: got %d attempts", tt.name, n)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"no key":                {},
		"key with a line break": {APIKey: "sec\nret"},
		"endpoint not a URL":    {APIKey: "secret", Endpoint: "localhost:80"},
	} {
		if _, err := New(t.Context(), c); err == nil || strings.Contains(err.Error(), "sec") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDefaultEndpoint(t *testing.T) {
	t.Parallel()
	var asked *http.Request
	m, err := New(t.Context(), Config{APIKey: "k", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = r
		return nil, errors.New("no network in tests")
	})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Generate(t.Context(), request()); !errors.Is(err, llm.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if asked == nil || asked.URL.Scheme != "https" || asked.URL.Host != "generativelanguage.googleapis.com" {
		t.Errorf("got %v", asked)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
