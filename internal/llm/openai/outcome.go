package openai

import (
	"fmt"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"myao/internal/llm"
)

// The finish reasons of a complete answer and of a cut one. OpenAI's own come first. Together
// sends eos, watsonx eos_token, and Mistral model_length for a full window. Gateways may pass
// on those of Anthropic or Google.
var (
	finishedReasons = []string{"stop", "", "eos", "eos_token", "end_turn", "stop_sequence"}
	cutReasons      = []string{"length", "max_tokens", "model_length"}
	// Some servers end an answer with calls as a finished one.
	callingReasons = []string{"tool_calls", "tool_use", "function_call"}
)

func isOneOf(reasons []string, finish string) bool {
	return slices.ContainsFunc(reasons, func(r string) bool { return strings.EqualFold(r, finish) })
}

// outcome turns an HTTP success into an answer or an error.
func outcome(r llm.Request, c *sdk.ChatCompletion) (llm.Response, error) {
	res := llm.Response{
		Model: c.Model,
		// Completion tokens include the thoughts.
		Usage: llm.NewUsage(float64(c.Usage.PromptTokens), float64(c.Usage.CompletionTokens),
			float64(c.Usage.CompletionTokensDetails.ReasoningTokens)).
			WithCached(float64(c.Usage.PromptTokensDetails.CachedTokens)),
	}
	if res.Model == "" {
		res.Model = r.Model
	}
	failed := func(kind error, message, text string) (llm.Response, error) {
		res.Text = text
		return res, &llm.Error{Kind: kind, Provider: provider, Message: message, Text: text, Usage: res.Usage}
	}
	if len(c.Choices) == 0 {
		return failed(llm.ErrEmpty, "no choices", "")
	}
	said := c.Choices[0].Message
	written := llm.Read(r, text(said))
	text := written.Text
	if r.Schema != nil && strings.TrimSpace(text) == "" {
		text = verdictInThoughts(said)
	}
	finish := c.Choices[0].FinishReason
	var called *llm.Turn
	if len(r.Tools) > 0 {
		called = turnOf(r, said)
	}
	if called == nil {
		called = turnOfWritten(r, written)
	}
	switch {
	case finish == "content_filter":
		return failed(llm.ErrBlocked, "finish reason content_filter", "")
	case said.Refusal != "": // its text may quote the prompt, so the error leaves it out
		return failed(llm.ErrBlocked, "the model refused", "")
	case isOneOf(cutReasons, finish) && (called != nil || written.Fault != ""):
		// its text leads up to a call that is not whole
		return failed(llm.ErrCut, "", "")
	case isOneOf(cutReasons, finish):
		return failed(llm.ErrCut, "", text)
	case called != nil && (isOneOf(finishedReasons, finish) || isOneOf(callingReasons, finish)):
		res.Turn = called
		return res, nil
	case written.Fault != "":
		return res, written.Unusable(provider, res.Usage)
	case !isOneOf(finishedReasons, finish):
		// "abort" and other reasons, or calls of tools that were not declared: not a finished answer.
		return failed(llm.ErrEmpty, fmt.Sprintf("the answer did not finish: %.32q", finish), "")
	case strings.TrimSpace(text) == "":
		return failed(llm.ErrEmpty, "no text", "")
	}
	res.Text = text
	return res, nil
}
