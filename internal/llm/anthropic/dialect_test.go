package anthropic

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"myao/internal/llm"
	"myao/internal/llm/llmtest"
)

const (
	noFormat = "output_config.format: structured outputs are not supported by this model"
	tooMany  = "max_tokens: 32768 > 8192, which is the maximum allowed number of output tokens for claude-old"
)

func formOf(c llmtest.Call) string { return fmt.Sprint(*c.MaxTokens, " ", c.Judgment()) }

// After a refusal of its form a request is sent in another, and so are later ones.
func TestDialects(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		refuses map[string]string // the message by formOf
		asked   []string          // by two calls
	}{
		"accepts all":   {nil, []string{"32768 true", "32768 true"}},
		"no schema":     {map[string]string{"32768 true": noFormat}, []string{"32768 true", "32768 false", "32768 false"}},
		"unknown field": {map[string]string{"32768 true": "output_config: Extra inputs are not permitted"}, []string{"32768 true", "32768 false", "32768 false"}},
		"fewer tokens":  {map[string]string{"32768 true": tooMany}, []string{"32768 true", "8192 true", "8192 true"}},
		"both": {map[string]string{"32768 true": tooMany, "8192 true": noFormat},
			[]string{"32768 true", "8192 true", "8192 false", "8192 false"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, s := setup(t, func(c llmtest.Call) llmtest.Reply {
				if message, ok := tt.refuses[formOf(c)]; ok {
					return llmtest.Reply{Status: 400, Message: message}
				}
				return llmtest.Text("{}")
			})
			r := request()
			r.Schema, r.MaxOutputTokens, r.ClientRequestID = llm.VerdictSchema(600), 32768, llm.NewClientRequestID("run/1")
			for range 2 {
				if res, err := m.Generate(t.Context(), r); err != nil || res.Text != "{}" {
					t.Fatalf("got %q, %v", res.Text, err)
				}
			}
			var asked []string
			ids := map[string]bool{}
			for _, c := range s.Calls() {
				asked = append(asked, formOf(c))
				id := c.Header.Get(llm.ClientRequestIDHeader)
				if llm.DecisionOf(id) != "run/1" || ids[id] && len(asked) < len(tt.asked) {
					t.Errorf("request %d has the id %q", len(asked), id)
				}
				ids[id] = true
			}
			if !slices.Equal(asked, tt.asked) {
				t.Errorf("asked %q, want %q", asked, tt.asked)
			}
			other := request()
			other.Model, other.Schema = "another", llm.VerdictSchema(600)
			s.Reset()
			if _, err := m.Generate(t.Context(), other); err != nil || !s.Calls()[0].Judgment() {
				t.Errorf("another model has the same dialect, %v", err)
			}
		})
	}
}

// A refusal for another cause, or of every form, is final.
func TestFinalRefusals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply llmtest.Reply
		text  bool // without a schema
		asked int
		kind  error
	}{
		"another field":        {llmtest.Reply{Status: 400, Message: "temperature is not supported"}, false, 1, llm.ErrInvalid},
		"no such model":        {llmtest.Reply{Status: 404, Message: "output_config"}, false, 1, llm.ErrInvalid},
		"overloaded":           {llmtest.Reply{Status: 529, Message: noFormat}, false, 1, llm.ErrUnavailable},
		"every format":         {llmtest.Reply{Status: 400, Message: noFormat}, false, 2, llm.ErrInvalid},
		"every limit":          {llmtest.Reply{Status: 400, Message: tooMany}, false, 2, llm.ErrInvalid},
		"a limit that is none": {llmtest.Reply{Status: 400, Message: "max_tokens: 9 > 99999999999999999999, which is the maximum"}, false, 1, llm.ErrInvalid},
		"a format, of a text":  {llmtest.Reply{Status: 400, Message: noFormat}, true, 1, llm.ErrInvalid},
	} {
		m, s := setup(t, func(llmtest.Call) llmtest.Reply { return tt.reply })
		r := request()
		r.MaxOutputTokens = 32768
		if !tt.text {
			r.Schema = llm.VerdictSchema(600)
		}
		if _, err := m.Generate(t.Context(), r); !errors.Is(err, tt.kind) || len(s.Calls()) != tt.asked {
			t.Errorf("%s: got %v after %d requests, want %v after %d", name, err, len(s.Calls()), tt.kind, tt.asked)
		}
	}
}
