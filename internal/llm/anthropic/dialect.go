package anthropic

import (
	"regexp"
	"strconv"

	"myao/internal/llm"
)

// dialect is the form of what models accept in different forms. The zero value is that of new
// models.
type dialect struct {
	// byPrompt sends no schema; the prompt asks for the same. Models before Claude 4.5, and
	// some other servers, refuse output_config.
	byPrompt bool
	// withoutTools: the model, of another server, takes no tools.
	withoutTools bool
	unseen       llm.Unseen
	// most is the model's own limit of tokens; 0: not known.
	most int
}

var (
	formPattern = regexp.MustCompile(`(?i)output[_ ]config|output[_ ]format|json_schema|structured output`)
	// mostPattern matches the API's 400 for a limit of tokens beyond the model's own:
	// "max_tokens: 32768 > 8192, which is the maximum allowed number of output tokens for …".
	mostPattern = regexp.MustCompile(`max_tokens: \d+ > (\d+), which is the maximum`)
)

// maxTokens is the limit of tokens for a request.
func (d dialect) maxTokens(r llm.Request) int {
	n := r.MaxOutputTokens
	if n == 0 {
		n = defaultMaxTokens
	}
	if d.most > 0 {
		n = min(n, d.most)
	}
	return n
}

// fallback returns the dialect to try after a refusal. ok is false if the form was not the
// cause, or if no other form is left.
func (d dialect) fallback(refused *llm.Error, r llm.Request) (next dialect, ok bool) {
	if unseen, ok := d.unseen.After(refused, r); ok {
		d.unseen = unseen
		return d, true
	}
	if len(r.Tools) > 0 && !d.withoutTools && len(r.Turns) == 0 && refused.RefusesTools() {
		d.withoutTools = true
		return d, true
	}
	if refused.Kind != llm.ErrInvalid || refused.Status != 400 && refused.Status != 422 {
		return d, false
	}
	if m := mostPattern.FindStringSubmatch(refused.Message); m != nil {
		most, err := strconv.Atoi(m[1])
		if err != nil || most <= 0 || most >= d.maxTokens(r) {
			return d, false
		}
		d.most = most
		return d, true
	}
	if r.Schema != nil && !d.byPrompt && formPattern.MatchString(refused.Message) {
		d.byPrompt = true
		return d, true
	}
	return d, false
}

// sent is the request as the model takes it, and the names of the files that it lacks. With turns it
// cannot be without tools.
func (d dialect) sent(r llm.Request) (sent llm.Request, unseen []string) {
	if d.withoutTools && len(r.Turns) == 0 {
		r.Tools = nil
	}
	return d.unseen.LeaveOut(r)
}

// dialect returns the dialect that the model last accepted.
func (m *Model) dialect(model string) dialect {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.learnt[model]
}

func (m *Model) learn(model string, d dialect) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.learnt[model] = d
}
