// Package llm is what the rest of the program knows about language models: one
// question with its whole context goes in, one answer with its token counts
// comes out. The adapters below this package speak to one provider each. They
// try once per call, but for what was refused for its form alone: when to try again
// is decided by whoever calls, from Error.
package llm

import (
	"context"
	"strings"
)

// The purposes of a call. They name the agent in logs and budgets and let the
// demo model know what is wanted of it.
const (
	PurposeResponse = "response"
	PurposeJudgment = "judgment"
	PurposeMemory   = "memory"
)

// Request is one question to a model.
type Request struct {
	// Purpose is PurposeResponse, PurposeJudgment or PurposeMemory.
	Purpose string
	// Model is the provider's name of the model, such as "gemini-3.8-flash".
	Model string
	// System is the system prompt and holds the entire context. It may be empty.
	System string
	// Prompt is the short instruction that stands last. It is never empty, since
	// some providers refuse a request without a user turn.
	Prompt string
	// Schema asks for one JSON object of this form; nil asks for free text.
	Schema *Schema
	// MaxOutputTokens bounds the answer, thinking included; 0 leaves it to the provider.
	MaxOutputTokens int
	// Temperature is sent only when set: newer models refuse the field.
	Temperature *float64
	// ClientRequestID is the caller's own name for what is asked, sent as the header
	// of that name; empty sends none (NewClientRequestID).
	ClientRequestID string
}

// Usage counts tokens. What a model thinks before it answers counts as output. An
// adapter of a provider makes it by Counted.
type Usage struct {
	Input, Output int
	// Thoughts is how many of Output were thoughts, where the provider tells.
	Thoughts int
}

// MaxTokens is what a call is taken to have cost at the most, each way. Columns of 32
// bits hold four times as much, too: a judgment may be asked for twice, each time once more
// with room for thoughts, and all of it is added up.
const MaxTokens = 500_000_000

// NewUsage is what a provider says that a call has cost. It may say anything: less than
// nothing is nothing, and there are never more than MostTokens.
func NewUsage(input, output, thoughts float64) Usage {
	return Usage{Input: tokens(input), Output: tokens(output), Thoughts: tokens(thoughts)}
}

// Add is the usage of two calls.
func (u Usage) Add(v Usage) Usage {
	return Usage{Input: u.Input + v.Input, Output: u.Output + v.Output, Thoughts: u.Thoughts + v.Thoughts}
}

func tokens(n float64) int {
	if !(n > 0) { // NaN, too
		return 0
	}
	return int(min(n, MaxTokens))
}

// Response is a model's answer.
type Response struct {
	Text  string
	Usage Usage
	// Model is the model that answered, where the provider names it, else the one asked for.
	Model string
}

// Model answers requests. It is safe for concurrent use.
type Model interface {
	// Generate makes one attempt and returns within the context's life. Every
	// error is or wraps an *Error. With ErrCut, ErrBlocked and ErrEmpty the
	// Response still holds what the call cost.
	Generate(ctx context.Context, r Request) (Response, error)
}

// Check returns ErrInvalid, in the name of the provider, for a request that no
// provider could answer.
func (r Request) Check(provider string) error {
	fault := ""
	switch {
	case strings.TrimSpace(r.Model) == "":
		fault = "the request names no model"
	case strings.TrimSpace(r.Prompt) == "":
		fault = "the request has no user prompt"
	case r.MaxOutputTokens < 0:
		fault = "the request asks for fewer than no tokens"
	default:
		return nil
	}
	return &Error{Kind: ErrInvalid, Provider: provider, Message: fault}
}
