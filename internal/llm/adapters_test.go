package llm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/answer/providers"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/test/llmtest"
)

// The contract of llm.Model, tested for every network adapter over real HTTP.

const key = "sk-very-secret-0123456789"

// adapters open each provider with a network for a server at a URL, until the test ends.
var adapters = networked()

func networked() map[string]func(t *testing.T, url string) llm.Model {
	all := map[string]func(t *testing.T, url string) llm.Model{}
	for _, p := range providers.All() {
		if name := string(p.Name); p.Name.Networked() {
			all[name] = func(t *testing.T, url string) llm.Model {
				t.Helper()
				m, err := opened(t, name, config.Access{APIKey: key + "\n", BaseURL: llmtest.Address(url, name)}, nil)
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
		}
	}
	return all
}

// each runs a test for every adapter, each with its own server.
func each(t *testing.T, test func(t *testing.T, m llm.Model, s *llmtest.Running)) {
	t.Helper()
	for name, open := range adapters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := llmtest.New(t, nil)
			test(t, open(t, s.URL), s)
		})
	}
}

func request() llm.Request {
	return llm.Request{Purpose: llm.PurposeResponse, Model: "m-1", System: "You are kind.", Prompt: "Answer now."}
}

// failure asserts that err is an *llm.Error without secrets and returns it.
func failure(t *testing.T, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v, want *llm.Error", err, err)
	}
	for _, text := range []string{err.Error(), fmt.Sprintf("%v %+v", err, err), e.Message} {
		if strings.Contains(text, key) || strings.Contains(text, "very-secret") {
			t.Errorf("the error holds the key: %s", text)
		}
	}
	return e
}

func TestFreeText(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		s.Handle(func(llmtest.Call) llmtest.Reply {
			return llmtest.Reply{Text: "Good morning.", InputTokens: 50, OutputTokens: 7, ThoughtTokens: 30}
		})
		r := request()
		r.MaxOutputTokens = 77
		got, err := m.Generate(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		want := llm.Response{Text: "Good morning.", Usage: llm.Usage{Input: 50, Output: 37, Thoughts: 30}, Model: "m-1"}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		calls := s.Calls()
		if len(calls) != 1 {
			t.Fatalf("got %d calls, want 1", len(calls))
		}
		c := calls[0]
		if c.Model != "m-1" || c.System != "You are kind." || c.User != "Answer now." {
			t.Errorf("on the wire: model %q, system %q, user %q", c.Model, c.System, c.User)
		}
		if c.MaxTokens == nil || *c.MaxTokens != 77 {
			t.Errorf("got limit %v, want 77", c.MaxTokens)
		}
		if c.Temperature != nil || strings.Contains(string(c.Body), "emperature") {
			t.Errorf("a temperature was sent: %s", c.Body)
		}
		if c.Judgment() {
			t.Errorf("a schema was sent: %s", c.Schema)
		}
		if strings.Contains(c.Path+c.Query+string(c.Body), key) {
			t.Errorf("the key is outside of the headers: %s?%s", c.Path, c.Query)
		}
	})
}

// A model writes the fields of a verdict in the schema's order: what it sees, then what it decides.
func TestOrderOfProperties(t *testing.T) {
	want := []string{"addressee", "gist", "reason", "should_respond", "confidence", "delay_seconds"}
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		r := request()
		r.Schema = llm.VerdictSchema(600)
		if _, err := m.Generate(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		c := s.Calls()[0]
		var schema struct{ Required []string }
		if err := json.Unmarshal(c.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		if got := c.Properties(); !slices.Equal(got, want) || !slices.Equal(schema.Required, want) {
			t.Errorf("got the order %q, of which %q are required\nwant %q", got, schema.Required, want)
		}
	})
}

func TestTemperatureOnlyWhenSet(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		for _, temperature := range []float64{0, 0.5} {
			r := request()
			r.Temperature = &temperature
			if _, err := m.Generate(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			calls := s.Calls()
			if got := calls[len(calls)-1].Temperature; got == nil || *got != temperature {
				t.Errorf("got temperature %v, want %v", got, temperature)
			}
		}
	})
}

func TestWrongKeyAndRightKey(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		s.Key = key
		if _, err := m.Generate(t.Context(), request()); err != nil {
			t.Fatalf("the right key: %v", err)
		}
	})
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		s.Key = "another"
		_, err := m.Generate(t.Context(), request())
		if !errors.Is(failure(t, err), llm.ErrAuth) {
			t.Errorf("got %v, want ErrAuth", err)
		}
	})
}

func TestInvalidRequests(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		for _, r := range []llm.Request{
			{Prompt: "hi"},
			{Model: "m", Prompt: " "},
			{Model: "m", Prompt: "hi", MaxOutputTokens: -1},
		} {
			_, err := m.Generate(t.Context(), r)
			if e := failure(t, err); e.Kind != llm.ErrInvalid {
				t.Errorf("%+v: got %v, want ErrInvalid", r, err)
			}
		}
		if n := len(s.Calls()); n != 0 {
			t.Errorf("got %d calls, want none", n)
		}
	})
}

func TestClientRequestID(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		for id, want := range map[string]string{
			"": "", "run/7/1709287800.000001": "run/7/1709287800.000001",
			strings.Repeat("x", 512): strings.Repeat("x", 512),
			// An id that the provider would refuse is left out of the request.
			strings.Repeat("x", 513): "", "run/日本": "", "line\nbreak": "", "two words": "",
		} {
			r := request()
			r.ClientRequestID = id
			if _, err := m.Generate(t.Context(), r); err != nil {
				t.Fatalf("%q: %v", id, err)
			}
			calls := s.Calls()
			c := calls[len(calls)-1]
			if got := c.Header.Get("X-Client-Request-Id"); got != want || len(c.Header.Values("X-Client-Request-Id")) > 1 {
				t.Errorf("%q: sent %q, want %q", id, c.Header.Values("X-Client-Request-Id"), want)
			}
			if id != "" && strings.Contains(string(c.Body), id) {
				t.Errorf("the id is in the body: %s", c.Body)
			}
		}
	})
}

func TestConcurrentCallsKeepTheirAnswers(t *testing.T) {
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		s.Handle(func(c llmtest.Call) llmtest.Reply { return llmtest.Text("re: " + c.User) })
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				r := request()
				r.Prompt = fmt.Sprint("question ", i)
				got, err := m.Generate(t.Context(), r)
				if err != nil || got.Text != "re: "+r.Prompt {
					t.Errorf("got %q, %v", got.Text, err)
				}
			})
		}
		wg.Wait()
	})
}

// Impossible token counts do not fail an answer.
func TestImpossibleUsage(t *testing.T) {
	answers := map[string]string{
		"gemini":    `{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":%s,"candidatesTokenCount":%s}}`,
		"openai":    `{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%s,"completion_tokens":%s}}`,
		"anthropic": `{"content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":%s,"output_tokens":%s}}`,
	}
	tests := []struct {
		in, out string
		want    llm.Usage
	}{
		{"12", "0", llm.Usage{Input: 12}},
		{"-1", "-1e30", llm.Usage{}},
		{"1e30", "1e30", llm.Usage{Input: llm.MaxTokens, Output: llm.MaxTokens}},
		{"9223372036854775807", "-9223372036854775808", llm.Usage{Input: llm.MaxTokens}},
		{"2147483648", "500000001", llm.Usage{Input: llm.MaxTokens, Output: llm.MaxTokens}},
		{"499999999", "1.5", llm.Usage{Input: 499999999, Output: 1}},
		{"null", "null", llm.Usage{}},
	}
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		for _, tt := range tests {
			s.Handle(func(c llmtest.Call) llmtest.Reply {
				return llmtest.Reply{Raw: fmt.Sprintf(answers[c.Provider], tt.in, tt.out)}
			})
			if res, err := m.Generate(t.Context(), request()); err != nil || res.Text != "hi" || res.Usage != tt.want {
				t.Errorf("%s and %s: got %+v, %v, want %+v", tt.in, tt.out, res.Usage, err, tt.want)
			}
		}
	})
}

// Not parallel: it counts the goroutines of the process.
func TestGoroutinesDoNotGrow(t *testing.T) {
	for name, open := range adapters {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t, func(c llmtest.Call) llmtest.Reply {
				return []llmtest.Reply{llmtest.Text("ok"), llmtest.Fail(503), {Malformed: true}, {Drop: true}}[c.N%4]
			})
			m := open(t, s.URL)
			before := runtime.NumGoroutine() + 4 // of a connection that is kept
			for range 100 {
				_, _ = m.Generate(t.Context(), request())
			}
			// Those of closed connections take a moment to end.
			for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("goroutines grew from %d to %d", before, runtime.NumGoroutine())
				}
			}
		})
	}
}
