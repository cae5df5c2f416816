package openai

import (
	"regexp"
	"slices"
	"strings"

	"myao/internal/llm"
)

// dialect is the form of the fields that servers accept in different forms.
type dialect struct {
	// newLimit: the limit is sent as max_completion_tokens.
	newLimit bool
	form     form
	// withoutTools: the model takes no tools.
	withoutTools bool
	unseen       llm.Unseen
	// lax: tools are declared without strict.
	lax bool
	// bare: the model's own messages are sent back without what its server does not take back.
	bare bool
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
	// strictPattern: "Invalid schema for function 'f': In context=(), 'required' is required to be
	// supplied", "Tools with mixed values for 'strict' are not allowed".
	strictPattern = regexp.MustCompile(`(?i)\bstrict\b|additionalProperties|'required' is required|^invalid schema for function`)
)

// fallback returns the dialect to try after a refusal. ok is false if the form was not the
// cause, or if no other form is left.
func (d dialect) fallback(refused *llm.Error, r llm.Request) (next dialect, ok bool) {
	if unseen, ok := d.unseen.After(refused, r); ok {
		d.unseen = unseen
		return d, true
	}
	switch {
	case len(r.Tools) > 0 && !d.lax && refused.Kind == llm.ErrInvalid && strictPattern.MatchString(refused.Message):
		d.lax = true
	case len(r.Tools) > 0 && !d.withoutTools && len(r.Turns) == 0 && refused.RefusesTools():
		d.withoutTools = true
	case refused.Kind != llm.ErrInvalid || refused.Status != 400 && refused.Status != 422:
		return d, false
	case !d.newLimit && r.MaxOutputTokens > 0 && newLimitPattern.MatchString(refused.Message):
		d.newLimit = true
	case d.form < byPrompt && r.Schema != nil && formPattern.MatchString(refused.Message):
		d.form++
	case !d.bare && wantsBare(refused.Message, r.Turns):
		d.bare = true
	default:
		return d, false
	}
	return d, true
}

// sent is the request as the model takes it, and the names of the files that it lacks. With turns it
// cannot be without tools.
func (d dialect) sent(r llm.Request) (sent llm.Request, unseen []string) {
	if d.withoutTools && len(r.Turns) == 0 {
		r.Tools = nil
	}
	return d.unseen.LeaveOut(r)
}

// wantsBare reports whether what the model wrote into a turn may be the cause of a refusal: a field
// that the message names ("property 'reasoning' is unsupported"), or arguments that are no JSON,
// which vLLM reads again.
func wantsBare(message string, turns []llm.Turn) bool {
	return slices.ContainsFunc(turns, func(t llm.Turn) bool {
		return slices.ContainsFunc(extraFields(t.Opaque),
			func(name string) bool { return strings.Contains(message, name) }) ||
			slices.ContainsFunc(t.Calls, func(c llm.Call) bool { return !isObject(c.Input) })
	})
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
