package mind

import (
	"errors"
	"strings"
	"unicode"

	"myao/internal/llm"
)

// bytesPerToken is the rule of thumb by which a text is measured: four letters of
// English, or one and a third characters of Japanese.
const bytesPerToken = 4

// summary is what a model's answer says. One that ran into the model's limit ends with
// its last whole line, if it has one. One that is half as long again as it was to be loses its
// first lines, which are the oldest: what is new is not shown to the model a second time. An
// answer without a word in it is llm.ErrEmpty.
func summary(text string, err error, tokens int) (string, error) {
	if cut, ok := errors.AsType[*llm.Error](err); ok && errors.Is(err, llm.ErrCut) && trim(cut.Text) != "" {
		whole, ok := withoutLastLine(trim(cut.Text))
		if !ok {
			whole += " …" // a part of one line is more than to pay for it again each hour
		}
		text, err = whole, nil
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
			text = before // one line that has no room by itself is not worth all others
		default:
			text = strings.TrimSpace(rest)
		}
	}
	if !HasWord(text) {
		return "", &llm.Error{Kind: llm.ErrEmpty, Message: "the model wrote no word"}
	}
	return text, nil
}

// MaxSummaryBytes is how long a memory may be that is to have so many tokens, in bytes: half as
// long again as that.
func MaxSummaryBytes(tokens int) int { return tokens * bytesPerToken * 3 / 2 }

// HasWord says whether a text has a letter or a digit in it, as each memory must.
func HasWord(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// trim takes away what surrounds a text, and what Postgres takes none of.
func trim(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\x00", "")) }

// withoutLastLine is the lines of a trimmed text but for the last; or the text and false if it has only one.
func withoutLastLine(text string) (string, bool) {
	i := strings.LastIndexByte(text, '\n')
	if i < 0 {
		return text, false
	}
	return strings.TrimSpace(text[:i]), true
}
