package gemini

import (
	"strings"

	"myao/internal/llm"
)

// response turns an HTTP success into an answer or an error. An unknown finish
// reason is never a success.
func (a answer) response(r llm.Request, text string) (llm.Response, error) {
	res := llm.Response{Usage: a.usage, Model: a.model}
	if res.Model == "" {
		res.Model = r.Model
	}
	failed := func(kind error, message string) (llm.Response, error) {
		return res, &llm.Error{Kind: kind, Provider: provider, Message: message, Usage: a.usage}
	}
	if a.blockReason != "" {
		return failed(llm.ErrBlocked, "prompt blocked: "+a.blockReason)
	}
	if a.candidates == 0 {
		return failed(llm.ErrEmpty, "no candidates")
	}
	written := llm.Read(r, text)
	text = written.Text
	called := turnOf(r, a.content, text)
	if called == nil {
		called = turnOfWritten(written)
	}
	switch a.finish {
	case "STOP", "": // a proxy may omit the reason
		if called != nil && len(r.Tools) > 0 {
			res.Turn = called
			return res, nil
		}
		if written.Fault != "" {
			return res, written.Unusable(provider, a.usage)
		}
	case "MAX_TOKENS":
		if called != nil || written.Fault != "" {
			text = "" // it leads up to a call that is not whole
		}
		res.Text = text
		return res, &llm.Error{Kind: llm.ErrCut, Provider: provider, Text: text, Usage: a.usage}
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE":
		// The model went astray; another attempt often succeeds.
		return res, &llm.Error{Kind: llm.ErrEmpty, Provider: provider, Message: "finish reason " + a.finish,
			Fault: "its call of a tool was malformed", Usage: a.usage}
	case "MISSING_THOUGHT_SIGNATURE": // a turn has lost it, and would do so each time
		return failed(llm.ErrInvalid, "finish reason "+a.finish)
	default:
		return failed(llm.ErrBlocked, "finish reason "+a.finish)
	}
	if strings.TrimSpace(text) == "" {
		return failed(llm.ErrEmpty, "no text")
	}
	res.Text = text
	return res, nil
}
