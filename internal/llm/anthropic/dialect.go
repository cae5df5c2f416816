package anthropic

import (
	"regexp"
	"strconv"

	"myao/internal/llm"
)

// dialect is how a model wants to be asked. The zero value is how new models do.
type dialect struct {
	// byPrompt leaves JSON to the prompt, which asks for the same as the schema: models
	// before Claude 4.5, and some servers of others, refuse output_config.
	byPrompt bool
	// most is how many tokens the model may write at most; 0: not known.
	most int
}

var (
	formPattern = regexp.MustCompile(`(?i)output[_ ]config|output[_ ]format|json_schema|structured output`)
	// mostPattern is how the API says 400 to a limit of tokens beyond the model's own:
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

// fallback is the dialect to try next where a request was refused for its form; ok is
// false where it was refused for something else, or no other form is left.
func (d dialect) fallback(refused *llm.Error, r llm.Request) (next dialect, ok bool) {
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

// dialect is the one in which the model last accepted a request.
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
