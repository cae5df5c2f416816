// Package llm is what the rest of the program knows about language models: one
// question with its whole context goes in, one answer with its token counts
// comes out. Each adapter below this package speaks to one provider. An adapter
// tries once per call; it repeats only a request that was refused for its form.
// The caller decides from Error whether to try again.
package llm

import (
	"cmp"
	"context"
	"strings"
)

// The purposes of a call. They name the agent in logs and budgets, and tell the
// demo model which kind of answer to give.
const (
	PurposeResponse = "response"
	PurposeJudgment = "judgment"
	PurposeMemory   = "memory"
	PurposeShadow   = "shadow" // a judgment that is only written down
)

// Request is one question to a model.
type Request struct {
	// Purpose is PurposeResponse, PurposeJudgment, PurposeMemory or PurposeShadow.
	Purpose string
	// Model is the provider's name of the model, such as "gemini-3.8-flash".
	Model string
	// System is the system prompt with the entire context. It may be empty.
	System string
	// Stable are places in System, in bytes, up to which the next questions of its kind are likely to begin alike. An
	// adapter marks them where its provider keeps what it has read only so far as it is told.
	Stable []int `json:"-"`
	// CacheKey is the same for questions that begin alike, and names nobody. It helps a provider to bring them where it
	// keeps what it has read.
	CacheKey string `json:"-"`
	// Said is what was said in the conversation, as chat turns before Prompt; empty where System has all of it.
	Said []Speech
	// Prompt is the short instruction at the end. It is never empty, since some
	// providers refuse a request without a user turn.
	Prompt string
	// Schema asks for one JSON object of this form; nil asks for free text.
	Schema *Schema
	// MaxOutputTokens bounds the answer, thinking included; 0 leaves the limit to the adapter.
	MaxOutputTokens int
	// Temperature is sent only when set: newer models refuse the field.
	Temperature *float64
	// Tools are what the model may call; empty for a request that must end in text. A request
	// with a Schema has none. If the model takes no tools, the request is answered without them.
	Tools []Tool
	// Turns are the model's earlier answers to this question, which called tools, in order and
	// with their results.
	Turns []Turn
	// Files are shown to the model with Prompt. If the model takes none of their kind, the request
	// is answered without them, and the model is told so.
	Files []File
	// ClientRequestID is the caller's own id of the request (NewClientRequestID), sent as
	// ClientRequestIDHeader; empty sends none.
	ClientRequestID string
}

// Speech is what the bot, or others, have said one after the other.
type Speech struct {
	Own  bool // said by the bot: providers send it as the assistant's
	Text string
}

const (
	speechBreak = "\n\n"
	// promptBreak parts Prompt from what others have said: a rule, which no line that people wrote can be.
	promptBreak = "\n\n---\n\n"
	// beforeOwn stands before what the bot has said first, since providers want a user's turn there.
	beforeOwn = "…"
)

// Chat returns Said and Prompt as providers want chat turns: others and the bot by turns, others first and last. The
// last has Prompt at its end.
func (r Request) Chat() (before []Speech, last string) {
	var turns []Speech
	add := func(s Speech, between string) {
		last := len(turns) - 1
		switch {
		case strings.TrimSpace(s.Text) == "":
			return
		case last >= 0 && turns[last].Own == s.Own:
			turns[last].Text += between + s.Text
			return
		case last < 0 && s.Own:
			turns = append(turns, Speech{Text: beforeOwn})
		}
		turns = append(turns, s)
	}
	for _, s := range r.Said {
		add(s, speechBreak)
	}
	add(Speech{Text: r.Prompt}, promptBreak)
	if len(turns) == 0 {
		return nil, r.Prompt
	}
	return turns[:len(turns)-1], turns[len(turns)-1].Text
}

// Usage counts tokens. What a model thinks before it answers counts as output.
// Adapters of providers make it with NewUsage.
type Usage struct {
	Input, Output int
	// Cached is the part of Input that the provider had read before; 0 where it does not say.
	Cached int
	// Thoughts is the part of Output that was thoughts; 0 where the provider does not say.
	Thoughts int
}

// MaxTokens bounds the tokens of one call, input and output each. A 32-bit column holds four
// times as many: a judgment may be asked for twice, each time once more with room for
// thoughts, and the ledger adds all of it up.
const MaxTokens = 500_000_000

// NewUsage makes a Usage of a provider's counts, which may be any numbers: negative ones
// become 0, and large ones MaxTokens.
func NewUsage(input, output, thoughts float64) Usage {
	return Usage{Input: tokens(input), Output: tokens(output), Thoughts: tokens(thoughts)}
}

// WithCached returns the usage with a part of its input that the provider had read before.
func (u Usage) WithCached(n float64) Usage {
	u.Cached = min(tokens(n), u.Input)
	return u
}

// Add returns the usage of two calls.
func (u Usage) Add(v Usage) Usage {
	return Usage{Input: u.Input + v.Input, Output: u.Output + v.Output, Cached: u.Cached + v.Cached,
		Thoughts: u.Thoughts + v.Thoughts}
}

func tokens(n float64) int {
	if !(n > 0) { // NaN, too
		return 0
	}
	return int(min(n, MaxTokens))
}

// Response is a model's answer.
type Response struct {
	Text string
	// Turn is set if the model called tools; Text is then empty.
	Turn *Turn
	// WithoutTools is set if Request.Tools were left out because the model takes none.
	WithoutTools bool
	// WithoutFiles names those of Request.Files, and of the files of results, that were left out
	// because the model takes none of their kind.
	WithoutFiles []string
	Usage        Usage
	// Model is the model that answered. Where the provider does not name it, it is Request.Model.
	Model string
}

// Model answers requests. It is safe for concurrent use.
type Model interface {
	// Generate makes one attempt and returns when the context ends, at the latest.
	// Every error is or wraps an *Error. With ErrCut, ErrBlocked and ErrEmpty the
	// Response still holds the usage.
	Generate(ctx context.Context, r Request) (Response, error)
}

// Check returns an ErrInvalid of the provider for a request that no provider could
// answer.
func (r Request) Check(provider string) error {
	fault := ""
	switch {
	case strings.TrimSpace(r.Model) == "":
		fault = "the request names no model"
	case strings.TrimSpace(r.Prompt) == "":
		fault = "the request has no user prompt"
	case r.MaxOutputTokens < 0:
		fault = "the request has a negative limit of tokens"
	default:
		if fault = cmp.Or(r.toolFault(provider), r.fileFault()); fault == "" {
			return nil
		}
	}
	return &Error{Kind: ErrInvalid, Provider: provider, Message: fault}
}
