package openai

import (
	"regexp"

	"myao/internal/llm"
)

// dialect is how a model wants to be asked for what servers take in different forms.
type dialect struct {
	// newLimit: it knows max_completion_tokens.
	newLimit bool
	form     form
}

// form is how JSON is asked for.
type form int

const (
	bySchema form = iota
	// byObject asks for some JSON object: DeepSeek knows no schema, nor do many models of Groq.
	byObject
	// byPrompt leaves it to the prompt, which asks for the same.
	byPrompt
)

var (
	newLimitPattern = regexp.MustCompile(`max_completion_tokens['"` + "`" + `]* instead`)
	formPattern     = regexp.MustCompile(`response[_ ]format|json_schema`)
)

// fallback is the dialect to try next where a request was refused for its form; ok is
// false where it was refused for something else, or no other form is left.
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

// dialect is the one that a model was last asked in without being refused for it.
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
