package mind

import (
	"myao/internal/chat"
	"myao/internal/llm"
)

// Question is what one model is asked.
type Question struct {
	llm.Request
	agent    Agent
	scope    chat.Scope // what it is about, for the record of the call
	decision string     // Attempt.Decision
	// limited renders the same question with at most so many characters of messages; nil where
	// its messages are not to be cut.
	limited func(characters int) (llm.Request, error)
}

func newQuestion(a Agent, s chat.Scope, r llm.Request) Question {
	return Question{Request: a.request(r), agent: a, scope: s}
}

// newLimitedQuestion is a question that can also be asked with fewer messages. limited gets 0 for
// the usual number of characters.
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
	// raiseFactor is how many times the tokens of its agent a question gets that needs more.
	raiseFactor = 4
	// maxRaisedTokens bounds that.
	maxRaisedTokens = 32_768
)

// withMoreTokens allows a longer answer. A question without a limit, or with one of
// moreTokensAtMost and above, stays as it is.
func (q Question) withMoreTokens() Question {
	if 0 < q.MaxOutputTokens && q.MaxOutputTokens < maxRaisedTokens {
		q.MaxOutputTokens = min(raiseFactor*q.MaxOutputTokens, maxRaisedTokens)
	}
	return q
}
