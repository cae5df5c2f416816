package anthropic

import (
	"fmt"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"myao/internal/llm"
)

// outcome turns an HTTP success into an answer or an error. An unknown stop reason is never a
// success.
func outcome(r llm.Request, m *sdk.Message) (llm.Response, error) {
	res := llm.Response{Model: string(m.Model), Usage: usage(m.Usage)}
	if res.Model == "" {
		res.Model = r.Model
	}
	failed := func(kind error, message, text string) (llm.Response, error) {
		res.Text = text
		return res, &llm.Error{Kind: kind, Provider: provider, Message: message, Text: text, Usage: res.Usage}
	}
	written, called := llm.Read(r, text(m)), turnOf(m)
	if called == nil {
		called = turnOfWritten(m, written)
	}
	text := written.Text
	switch m.StopReason {
	case sdk.StopReasonRefusal:
		// Its explanation may quote the prompt; the category is one word.
		return failed(llm.ErrBlocked, fmt.Sprintf("stop reason refusal %.32s", m.StopDetails.Category), "")
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		if called != nil || written.Fault != "" || slices.ContainsFunc(m.Content, isCall) {
			text = "" // it leads up to a call that is not whole
		}
		return failed(llm.ErrCut, "", text)
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence, sdk.StopReasonToolUse, "":
		// another server may omit the reason
		if called != nil && len(r.Tools) > 0 {
			res.Turn = called
			return res, nil
		}
		if written.Fault != "" {
			return res, written.Unusable(provider, res.Usage)
		}
		if m.StopReason == sdk.StopReasonToolUse {
			return failed(llm.ErrEmpty, "the answer calls a tool that was not declared", "")
		}
	default: // a pause
		return failed(llm.ErrEmpty, fmt.Sprintf("the answer did not finish: %.32q", m.StopReason), "")
	}
	if strings.TrimSpace(text) == "" {
		return failed(llm.ErrEmpty, "no text", "")
	}
	res.Text = text
	return res, nil
}

// text joins the text blocks. Thoughts are blocks of another type.
func text(m *sdk.Message) string {
	var b strings.Builder
	for _, block := range m.Content {
		if block.Type == "text" {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// usage counts all that the model read as input: input_tokens excludes the tokens that were
// written to the prompt cache or read from it. Output tokens include the thoughts.
func usage(u sdk.Usage) llm.Usage {
	input := float64(u.InputTokens) + float64(u.CacheCreationInputTokens) + float64(u.CacheReadInputTokens)
	return llm.NewUsage(input, float64(u.OutputTokens), float64(u.OutputTokensDetails.ThinkingTokens)).
		WithCached(float64(u.CacheReadInputTokens))
}
