package agents

import (
	"errors"
	"strings"
	"unicode"

	"myao/internal/llm"
)

// bytesPerToken estimates the tokens of a text: four letters of English, or one and a third
// characters of Japanese.
const bytesPerToken = 4

// summary makes a memory's text from a model's answer. A cut answer loses its last, incomplete
// line, unless it is the only one. An answer longer than MaxSummaryBytes loses its first
// lines: they are the oldest, and the model will not be shown again what is new. An answer
// without a word is llm.ErrEmpty.
func summary(text string, err error, tokens int) (string, error) {
	if cut, ok := errors.AsType[*llm.Error](err); ok && errors.Is(err, llm.ErrCut) && trim(cut.Text) != "" {
		whole, ok := withoutLastLine(trim(cut.Text))
		if !ok {
			whole += " …" // better than to pay for it again each hour
		}
		text, err = whole, nil
	}
	if calls, ok := errors.AsType[*llm.Error](err); ok && calls.Fault != "" && HasWord(calls.Text) {
		text, err = calls.Text, nil
	}
	if err != nil {
		return "", err
	}
	text = trim(text)
	for most := MaxSummaryBytes(tokens); len(text) > most; {
		_, rest, more := strings.Cut(text, "\n")
		before, _ := withoutLastLine(text)
		switch {
		case !more:
			text = strings.ToValidUTF8(text[:most], "")
		case len(text)-strings.LastIndexByte(text, '\n') > most+1:
			text = before // drop a last line that is too long alone, and keep the others
		default:
			text = strings.TrimSpace(rest)
		}
	}
	if !HasWord(text) {
		return "", &llm.Error{Kind: llm.ErrEmpty, Message: "the model wrote no word"}
	}
	return text, nil
}

// MaxSummaryBytes is the length in bytes that a memory of this many tokens may have: half as much again.
func MaxSummaryBytes(tokens int) int { return tokens * bytesPerToken * 3 / 2 }

// HasWord reports whether a text has a letter or a digit. Every memory must.
func HasWord(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// trim removes surrounding white space, and NUL, which Postgres refuses.
func trim(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\x00", "")) }

// withoutLastLine removes the last line of a trimmed text. It returns false if there is only one.
func withoutLastLine(text string) (string, bool) {
	i := strings.LastIndexByte(text, '\n')
	if i < 0 {
		return text, false
	}
	return strings.TrimSpace(text[:i]), true
}
