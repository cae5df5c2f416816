package llm_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"myao/internal/llm"
	"myao/internal/llm/anthropic"
	"myao/internal/llm/openai"
)

// sent is a server at any address that keeps the last request's body.
type sent struct{ body, answer string }

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	s.body = string(body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(s.answer)), Request: r}, err
}

// What repeats is marked for Anthropic and keyed for OpenAI, at their own addresses alone, and what they had read before
// is counted.
func TestRepeatedPromptsAreKept(t *testing.T) {
	t.Parallel()
	const own, other = "", "https://models.example.com/v1"
	marked := `"system":[{"text":"fixed","cache_control":{"type":"ephemeral"},"type":"text"},` +
		`{"text":" known","cache_control":{"type":"ephemeral"},"type":"text"},{"text":" said","type":"text"}]`
	for _, c := range []struct {
		provider, address, answer, want string
	}{
		{"anthropic", own, `{"model":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":` +
			`{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":1}}`, marked},
		{"anthropic", other, `{"model":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":` +
			`{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":1}}`, `"system":[{"text":"fixed known said","type":"text"}]`},
		{"openai", own, `{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":` +
			`{"prompt_tokens":100,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":90}}}`, `"prompt_cache_key":"k"`},
		{"openai", other, `{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":` +
			`{"prompt_tokens":100,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":90}}}`, `"model":"m"`},
	} {
		s := &sent{answer: c.answer}
		var m llm.Model
		var err error
		if c.provider == "openai" {
			m, err = openai.New(openai.Config{APIKey: "key", BaseURL: c.address, Transport: s})
		} else {
			m, err = anthropic.New(anthropic.Config{APIKey: "key", BaseURL: c.address, Transport: s})
		}
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Generate(t.Context(), llm.Request{Model: "m", System: "fixed known said", Prompt: "Answer.",
			Stable: []int{5, 11}, CacheKey: "k"})
		if err != nil || res.Usage.Input != 100 || res.Usage.Cached != 90 {
			t.Errorf("%s at %q: %+v, %v", c.provider, c.address, res.Usage, err)
		}
		if !strings.Contains(s.body, c.want) || c.address == other && strings.Contains(s.body, "cache") {
			t.Errorf("%s at %q: sent\n%s\nwant %s", c.provider, c.address, s.body, c.want)
		}
	}
}
