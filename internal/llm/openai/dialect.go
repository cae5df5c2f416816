package openai

import (
	"regexp"

	"myao/internal/llm"
)

// dialect is the form of the fields that servers accept in different forms.
type dialect struct {
	// newLimit: the limit is sent as max_completion_tokens.
	newLimit bool
	form     form
}

// form is how a request asks for JSON.
type form int

const (
	bySchema form = iota
	// byObject asks for any JSON object: DeepSeek and many models of Groq accept no schema.
	byObject
	// byPrompt sends no format; the prompt asks for the same.
	byPrompt
)

var (
	newLimitPattern = regexp.MustCompile(`max_completion_tokens['"` + "`" + `]* instead`)
	formPattern     = regexp.MustCompile(`response[_ ]format|json_schema`)
)

// fallback returns the dialect to try after a refusal. ok is false if the form was not the
// cause, or if no other form is left.
func (d dialect) fallback(refused *llm.Error, r llm.Request) (next dialect, ok bool) {
	switch {
	case refused.Kind != llm.ErrInvalid || refused.Status != 400 && refused.Status != 422:
		return d, false
	case !d.newLimit && r.MaxOutputTokens > 0 && newLimitPattern.MatchString(refused.Message):
		d.newLimit = true
	case d.form < byPrompt && r.Schema != nil && formPattern.MatchString(refused.Message):
		d.form++
	default:
		return d, false
	}
	return d, true
}

// dialect returns the dialect that the model last accepted.
func (m *Model) dialect(model string) dialect {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d, ok := m.learnt[model]; ok {
		return d
	}
	return dialect{newLimit: m.newLimit, form: bySchema}
}

func (m *Model) learn(model string, d dialect) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.learnt[model] = d
}
