package llm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"myao/internal/llm"
	"myao/test/llmtest"
)

const (
	deepSeek = "This response_format type is unavailable now"
	groq     = "This model does not support response format `json_schema`. See supported models at https://console.groq.com/docs/structured-outputs#supported-models"
	noWord   = "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."
	oldLimit = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
	noFormat = "output_config.format: structured outputs are not supported by this model"
	tooMany  = "max_tokens: 32768 > 8192, which is the maximum allowed number of output tokens for claude-old"
)

// formOf describes the dialect of a request: its limit, and whether it has a schema; of OpenAI's
// protocol which limit, and which format.
func formOf(t *testing.T, c llmtest.Call) string {
	t.Helper()
	if c.Provider == "anthropic" {
		return fmt.Sprint(*c.MaxTokens, " ", c.Judgment())
	}
	var body struct {
		MaxTokens     int                   `json:"max_tokens"`
		MaxCompletion int                   `json:"max_completion_tokens"`
		Format        struct{ Type string } `json:"response_format"`
	}
	if err := json.Unmarshal(c.Body, &body); err != nil {
		t.Fatal(err)
	}
	form := "old"
	if body.MaxCompletion > 0 {
		form = "new"
	}
	if body.MaxTokens+body.MaxCompletion != 32768 {
		t.Errorf("got limits of %d and %d, want one of 32768", body.MaxTokens, body.MaxCompletion)
	}
	return strings.TrimSpace(form + " " + body.Format.Type)
}

func judgment() llm.Request {
	r := request()
	r.Schema, r.MaxOutputTokens, r.ClientRequestID = llm.VerdictSchema(600), 32768, llm.NewClientRequestID("run/1")
	return r
}

// After a refusal of its form a request is sent in another, and so are later ones. Each model has its own dialect.
func TestDialects(t *testing.T) {
	refusal := func(message string) llmtest.Reply { return llmtest.Reply{Status: 400, Message: message} }
	for name, tt := range map[string]struct {
		provider string
		refuses  map[string]llmtest.Reply // by formOf
		asked    []string                 // by two calls
	}{
		"accepts all":      {"openai", nil, []string{"old json_schema", "old json_schema"}},
		"DeepSeek":         {"openai", map[string]llmtest.Reply{"old json_schema": refusal(deepSeek)}, []string{"old json_schema", "old json_object", "old json_object"}},
		"DeepSeek, once":   {"openai", map[string]llmtest.Reply{"old json_schema": {Status: 422, Message: "Failed to deserialize the JSON body into the target type: response_format: response_format.type `json_schema` is unavailable now at line 1 column 12440"}}, []string{"old json_schema", "old json_object", "old json_object"}},
		"Groq":             {"openai", map[string]llmtest.Reply{"old json_schema": refusal(groq)}, []string{"old json_schema", "old json_object", "old json_object"}},
		"no format at all": {"openai", map[string]llmtest.Reply{"old json_schema": refusal(groq), "old json_object": refusal(noWord)}, []string{"old json_schema", "old json_object", "old", "old"}},
		"a gateway":        {"openai", map[string]llmtest.Reply{"old json_schema": refusal(oldLimit)}, []string{"old json_schema", "new json_schema", "new json_schema"}},
		"all of it": {"openai", map[string]llmtest.Reply{"old json_schema": refusal(oldLimit), "new json_schema": refusal(groq), "new json_object": refusal(groq)},
			[]string{"old json_schema", "new json_schema", "new json_object", "new", "new"}},

		"Claude accepts all": {"anthropic", nil, []string{"32768 true", "32768 true"}},
		"no schema":          {"anthropic", map[string]llmtest.Reply{"32768 true": refusal(noFormat)}, []string{"32768 true", "32768 false", "32768 false"}},
		"unknown field":      {"anthropic", map[string]llmtest.Reply{"32768 true": refusal("output_config: Extra inputs are not permitted")}, []string{"32768 true", "32768 false", "32768 false"}},
		"fewer tokens":       {"anthropic", map[string]llmtest.Reply{"32768 true": refusal(tooMany)}, []string{"32768 true", "8192 true", "8192 true"}},
		"both": {"anthropic", map[string]llmtest.Reply{"32768 true": refusal(tooMany), "8192 true": refusal(noFormat)},
			[]string{"32768 true", "8192 true", "8192 false", "8192 false"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := llmtest.New(t, func(c llmtest.Call) llmtest.Reply {
				if no, ok := tt.refuses[formOf(t, c)]; ok {
					return no
				}
				return llmtest.Text("{}")
			})
			m := adapters[tt.provider](t, s.URL)
			// ask returns the forms of the requests that a call takes.
			ask := func(model string) (forms []string) {
				t.Helper()
				s.Reset()
				r := judgment()
				r.Model = model
				if res, err := m.Generate(t.Context(), r); err != nil || res.Text != "{}" {
					t.Fatalf("got %q, %v", res.Text, err)
				}
				ids := map[string]bool{}
				for _, c := range s.Calls() {
					forms = append(forms, formOf(t, c))
					id := c.Header.Get(llm.ClientRequestIDHeader)
					if llm.DecisionOf(id) != "run/1" || ids[id] {
						t.Errorf("request %d has the id %q", len(forms), id)
					}
					ids[id] = true
				}
				return forms
			}
			if asked := append(ask("m-1"), ask("m-1")...); !slices.Equal(asked, tt.asked) {
				t.Errorf("asked %q, want %q", asked, tt.asked)
			}
			if asked := ask("another"); asked[0] != tt.asked[0] {
				t.Errorf("another model was asked %q first", asked[0])
			}
			if asked := ask("m-1"); !slices.Equal(asked, tt.asked[len(tt.asked)-1:]) {
				t.Errorf("after another model asked %q", asked)
			}
		})
	}
}

// A refusal for another cause, or of every form, is final.
func TestFinalRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		provider string
		reply    llmtest.Reply
		text     bool // without a schema
		asked    int
		kind     error
	}{
		"another field":            {"openai", llmtest.Reply{Status: 400, Message: "Unsupported value: 'temperature' does not support 0.2 with this model."}, false, 1, llm.ErrInvalid},
		"a limit that is too high": {"openai", llmtest.Reply{Status: 400, Message: "`max_completion_tokens` must be less than or equal to `400`"}, false, 1, llm.ErrInvalid},
		"no such model":            {"openai", llmtest.Reply{Status: 404, Message: "json_schema"}, false, 1, llm.ErrInvalid},
		"overloaded":               {"openai", llmtest.Reply{Status: 503, Message: deepSeek}, false, 1, llm.ErrUnavailable},
		"every format":             {"openai", llmtest.Reply{Status: 400, Message: deepSeek}, false, 3, llm.ErrInvalid},
		"every limit":              {"openai", llmtest.Reply{Status: 400, Message: oldLimit}, false, 2, llm.ErrInvalid},
		"a format, of a text":      {"openai", llmtest.Reply{Status: 400, Message: deepSeek}, true, 1, llm.ErrInvalid},

		"Claude, another field":        {"anthropic", llmtest.Reply{Status: 400, Message: "temperature is not supported"}, false, 1, llm.ErrInvalid},
		"Claude, no such model":        {"anthropic", llmtest.Reply{Status: 404, Message: "output_config"}, false, 1, llm.ErrInvalid},
		"Claude, overloaded":           {"anthropic", llmtest.Reply{Status: 529, Message: noFormat}, false, 1, llm.ErrUnavailable},
		"Claude, every format":         {"anthropic", llmtest.Reply{Status: 400, Message: noFormat}, false, 2, llm.ErrInvalid},
		"Claude, every limit":          {"anthropic", llmtest.Reply{Status: 400, Message: tooMany}, false, 2, llm.ErrInvalid},
		"Claude, a limit that is none": {"anthropic", llmtest.Reply{Status: 400, Message: "max_tokens: 9 > 99999999999999999999, which is the maximum"}, false, 1, llm.ErrInvalid},
		"Claude, a format, of a text":  {"anthropic", llmtest.Reply{Status: 400, Message: noFormat}, true, 1, llm.ErrInvalid},
	} {
		s := llmtest.New(t, func(llmtest.Call) llmtest.Reply { return tt.reply })
		r := judgment()
		if tt.text {
			r.Schema = nil
		}
		_, err := adapters[tt.provider](t, s.URL).Generate(t.Context(), r)
		if !errors.Is(err, tt.kind) || len(s.Calls()) != tt.asked {
			t.Errorf("%s: got %v after %d requests, want %v after %d", name, err, len(s.Calls()), tt.kind, tt.asked)
		}
	}
}
