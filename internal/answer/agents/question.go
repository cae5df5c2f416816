package agents

import (
	"crypto/sha256"
	"fmt"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/llm"
)

// Question is what one model is asked.
type Question struct {
	llm.Request
	agent    Agent
	scope    chat.Scope // saved with the call
	decision string     // Attempt.Decision
	// by makes the same question for another agent.
	by func(Agent) (Question, error)
	// limited renders the question with at most this many characters of messages. Nil if its
	// messages must not be cut.
	limited func(characters int) (llm.Request, error)
}

// newQuestion returns a question that render renders for an agent.
func newQuestion(a Agent, s chat.Scope, render func(Agent) (llm.Request, error)) (Question, error) {
	r, err := render(a)
	if err != nil {
		return Question{}, &FinalError{err}
	}
	by := func(other Agent) (Question, error) { return newQuestion(other, s, render) }
	return Question{Request: a.request(r), agent: a, scope: s, by: by}, nil
}

// newLimitedQuestion returns a question that can also be asked with fewer messages. It renders
// with limited(a, 0), which means the usual number of characters.
func newLimitedQuestion(
	a Agent, s chat.Scope, limited func(a Agent, characters int) (llm.Request, error),
) (Question, error) {
	q, err := newQuestion(a, s, func(a Agent) (llm.Request, error) { return limited(a, 0) })
	q.limited = func(characters int) (llm.Request, error) { return limited(a, characters) }
	q.by = func(other Agent) (Question, error) { return newLimitedQuestion(other, s, limited) }
	return q, err
}

// cacheable returns a request with a marked system text, and with what helps a provider to find again what it has read
// for the question before: those of one purpose in one channel begin alike. The key is a hash, since it names nobody.
func cacheable(r llm.Request, system string, s chat.Scope) llm.Request {
	r.System, r.Stable = prompt.Unmark(system)
	r.CacheKey = fmt.Sprintf("%x", sha256.Sum256([]byte(r.Purpose+"/"+s.Team+"/"+s.Channel)))[:32]
	return r
}

const (
	raiseFactor     = 4
	maxRaisedTokens = 32_768
)

// withMoreTokens multiplies the token limit of the answer by raiseFactor, up to maxRaisedTokens. It
// never lowers a limit, nor sets one.
func (q Question) withMoreTokens() Question {
	if 0 < q.MaxOutputTokens && q.MaxOutputTokens < maxRaisedTokens {
		q.MaxOutputTokens = min(raiseFactor*q.MaxOutputTokens, maxRaisedTokens)
	}
	return q
}
