package store

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// nobody stands where a forgotten person's name or id stood.
	nobody = "someone who was forgotten"
	// orderedByNobody stands for slack:U… where a forgotten person gave an order.
	orderedByNobody = "slack:forgotten"
	// aboutForgotten is the reason of a decision about what was forgotten.
	aboutForgotten = "what it was about was forgotten"
)

// withoutUser replaces the mentions of a user, and the id where it stands alone.
func withoutUser(text, user string) string {
	if !strings.Contains(text, user) {
		return text
	}
	text = regexp.MustCompile(`<@`+regexp.QuoteMeta(user)+`(?:\|[^<>]*)?>`).ReplaceAllString(text, "@"+nobody)
	return replaceWord(text, user, nobody)
}

// replaceWord replaces a word, by the exact case, where it is not a part of a longer one.
func replaceWord(text, word, with string) string {
	if word == "" {
		return text
	}
	var b strings.Builder
	for rest, before := text, rune(0); ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return b.String() + rest
		}
		if i > 0 {
			before, _ = utf8.DecodeLastRuneInString(rest[:i])
		}
		first, _ := utf8.DecodeRuneInString(word)
		last, _ := utf8.DecodeLastRuneInString(word)
		after, _ := utf8.DecodeRuneInString(rest[i+len(word):])
		b.WriteString(rest[:i])
		if sameWord(before, first) || i+len(word) < len(rest) && sameWord(last, after) {
			b.WriteString(word)
		} else {
			b.WriteString(with)
		}
		before, rest = last, rest[i+len(word):]
	}
}

// sameWord reports whether two characters in a row are of one word. Japanese and Chinese have no spaces
// between words, so that nothing there is.
func sameWord(a, b rune) bool {
	letter := func(r rune) bool {
		return (unicode.IsLetter(r) || unicode.IsNumber(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana,
			unicode.Katakana)
	}
	return letter(a) && letter(b)
}
