package openai

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"myao/internal/llm"
	"myao/internal/llm/llmtest"
)

const (
	deepSeek = "This response_format type is unavailable now"
	groq     = "This model does not support response format `json_schema`. See supported models at https://console.groq.com/docs/structured-outputs#supported-models"
	noWord   = "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."
	oldLimit = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
)

// formOf describes the dialect of a request: which limit, and which format.
func formOf(t *testing.T, c llmtest.Call) string {
	t.Helper()
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
	if body.MaxTokens+body.MaxCompletion != 500 {
		t.Errorf("got limits of %d and %d, want one of 500", body.MaxTokens, body.MaxCompletion)
	}
	return strings.TrimSpace(form + " " + body.Format.Type)
}

// After a refusal of its form a request is sent in another, and so are later ones.
func TestDialects(t *testing.T) {
	t.Parallel()
	refusal := func(message string) llmtest.Reply { return llmtest.Reply{Status: 400, Message: message} }
	for name, tt := range map[string]struct {
		refuses map[string]llmtest.Reply // by formOf
		asked   []string                 // by two calls
	}{
		"accepts all":      {nil, []string{"old json_schema", "old json_schema"}},
		"DeepSeek":         {map[string]llmtest.Reply{"old json_schema": refusal(deepSeek)}, []string{"old json_schema", "old json_object", "old json_object"}},
		"DeepSeek, once":   {map[string]llmtest.Reply{"old json_schema": {Status: 422, Message: "Failed to deserialize the JSON body into the target type: response_format: response_format.type `json_schema` is unavailable now at line 1 column 12440"}}, []string{"old json_schema", "old json_object", "old json_object"}},
		"Groq":             {map[string]llmtest.Reply{"old json_schema": refusal(groq)}, []string{"old json_schema", "old json_object", "old json_object"}},
		"no format at all": {map[string]llmtest.Reply{"old json_schema": refusal(groq), "old json_object": refusal(noWord)}, []string{"old json_schema", "old json_object", "old", "old"}},
		"a gateway":        {map[string]llmtest.Reply{"old json_schema": refusal(oldLimit)}, []string{"old json_schema", "new json_schema", "new json_schema"}},
		"all of it": {map[string]llmtest.Reply{"old json_schema": refusal(oldLimit), "new json_schema": refusal(groq), "new json_object": refusal(groq)},
			[]string{"old json_schema", "new json_schema", "new json_object", "new", "new"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, s := setup(t, func(c llmtest.Call) llmtest.Reply {
				if no, ok := tt.refuses[formOf(t, c)]; ok {
					return no
				}
				return llmtest.Text("{}")
			})
			r := request()
			r.Schema, r.MaxOutputTokens, r.ClientRequestID = llm.VerdictSchema(600), 500, llm.NewClientRequestID("run/1")
			for range 2 {
				if res, err := m.Generate(t.Context(), r); err != nil || res.Text != "{}" {
					t.Fatalf("got %q, %v", res.Text, err)
				}
			}
			var asked []string
			ids := map[string]bool{}
			for _, c := range s.Calls() {
				asked = append(asked, formOf(t, c))
				id := c.Header.Get(llm.ClientRequestIDHeader)
				if llm.DecisionOf(id) != "run/1" || ids[id] && len(asked) < len(tt.asked) {
					t.Errorf("request %d has the id %q", len(asked), id)
				}
				ids[id] = true
			}
			if !slices.Equal(asked, tt.asked) {
				t.Errorf("asked %q, want %q", asked, tt.asked)
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
		"another field":            {llmtest.Reply{Status: 400, Message: "Unsupported value: 'temperature' does not support 0.2 with this model."}, false, 1, llm.ErrInvalid},
		"a limit that is too high": {llmtest.Reply{Status: 400, Message: "`max_completion_tokens` must be less than or equal to `400`"}, false, 1, llm.ErrInvalid},
		"no such model":            {llmtest.Reply{Status: 404, Message: "json_schema"}, false, 1, llm.ErrInvalid},
		"overloaded":               {llmtest.Reply{Status: 503, Message: deepSeek}, false, 1, llm.ErrUnavailable},
		"every format":             {llmtest.Reply{Status: 400, Message: deepSeek}, false, 3, llm.ErrInvalid},
		"every limit":              {llmtest.Reply{Status: 400, Message: oldLimit}, false, 2, llm.ErrInvalid},
		"a format, of a text":      {llmtest.Reply{Status: 400, Message: deepSeek}, true, 1, llm.ErrInvalid},
	} {
		m, s := setup(t, func(llmtest.Call) llmtest.Reply { return tt.reply })
		r := request()
		r.MaxOutputTokens = 500
		if !tt.text {
			r.Schema = llm.VerdictSchema(600)
		}
		if _, err := m.Generate(t.Context(), r); !errors.Is(err, tt.kind) || len(s.Calls()) != tt.asked {
			t.Errorf("%s: got %v after %d requests, want %v after %d", name, err, len(s.Calls()), tt.kind, tt.asked)
		}
	}
}

// Each model has its own dialect.
func TestDialectsOfTwoModels(t *testing.T) {
	t.Parallel()
	m, s := setup(t, func(c llmtest.Call) llmtest.Reply {
		if c.Model == "simple" && formOf(t, c) == "old json_schema" {
			return llmtest.Reply{Status: 400, Message: groq}
		}
		return llmtest.Text("{}")
	})
	for _, model := range []string{"simple", "able", "simple"} {
		r := request()
		r.Model, r.Schema, r.MaxOutputTokens = model, llm.VerdictSchema(600), 500
		if _, err := m.Generate(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	var asked []string
	for _, c := range s.Calls() {
		asked = append(asked, c.Model+" "+formOf(t, c))
	}
	if want := []string{"simple old json_schema", "simple old json_object", "able old json_schema", "simple old json_object"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}
