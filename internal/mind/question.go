package mind

import (
	"myao/internal/chat"
	"myao/internal/llm"
)

// Question is what one model is asked.
type Question struct {
	llm.Request
	agent    Agent
	scope    chat.Scope // saved with the call
	decision string     // Attempt.Decision
	// limited renders the question with at most this many characters of messages. Nil if its
	// messages must not be cut.
	limited func(characters int) (llm.Request, error)
}

func newQuestion(a Agent, s chat.Scope, r llm.Request) Question {
	return Question{Request: a.request(r), agent: a, scope: s}
}

// newLimitedQuestion returns a question that can also be asked with fewer messages. It renders
// with limited(0), which means the usual number of characters.
func newLimitedQuestion(a Agent, s chat.Scope, limited func(characters int) (llm.Request, error)) (Question, error) {
	r, err := limited(0)
	if err != nil {
		return Question{}, &FinalError{err}
	}
	q := newQuestion(a, s, r)
	q.limited = limited
	return q, nil
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
