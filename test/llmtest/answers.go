package llmtest

import (
	"errors"
	"strings"
	"testing"

	"myao/internal/llm"
)

// RawAnswer is an answer in its provider's form, and what an adapter makes of it.
type RawAnswer = struct {
	Name string
	Raw  string
	Kind error // nil: success
	Text string
}

// Answers asks a model once for each answer. Those with a usage have the same one, and name the same model.
func Answers(t *testing.T, m llm.Model, s *Running, usage llm.Usage, model string, all []RawAnswer) {
	t.Helper()
	for _, a := range all {
		s.Reset()
		s.Handle(func(Call) Reply { return Reply{Raw: a.Raw} })
		res, err := m.Generate(t.Context(), llm.Request{Purpose: llm.PurposeResponse, Model: "m-1", Prompt: "Answer now."})
		if a.Kind == nil && (err != nil || res.Text != a.Text) {
			t.Errorf("%s: got %q, %v, want %q", a.Name, res.Text, err, a.Text)
		}
		if a.Kind != nil {
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != a.Kind || e.Text != a.Text {
				t.Errorf("%s: got %v, want %v with text %q", a.Name, err, a.Kind, a.Text)
			}
		}
		if strings.Contains(a.Raw, "usage") && (res.Usage != usage || res.Model != model) {
			t.Errorf("%s: got usage %v of %q", a.Name, res.Usage, res.Model)
		}
		if n := len(s.Calls()); n != 1 {
			t.Errorf("%s: got %d attempts", a.Name, n)
		}
	}
}
