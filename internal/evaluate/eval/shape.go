package eval

import (
	"strings"
	"unicode"

	"myao/internal/chat"
	"myao/internal/slack"
)

// shape is a text without its words: it keeps mentions, whether it asks something, and about how long it is.
func (m *masker) shape(text string) string {
	var parts []string
	keep := func(part string) string {
		if part != "" {
			parts = append(parts, part)
		}
		return ""
	}
	slack.RewriteAround(text, markupPattern.FindAllStringIndex(text, -1), func(token string) string {
		if body, _, _ := strings.Cut(token[1:len(token)-1], "|"); userPattern.MatchString(body) ||
			strings.HasPrefix(body, "!") {
			return keep(m.token("<" + body + ">"))
		}
		return keep(filler(token))
	}, func(text string) string { return keep(filler(text)) })
	return strings.Join(parts, " ")
}

// filler stands for some words: one for up to 20 letters, 8 for up to 120, else 40.
func filler(text string) string {
	letters, n := 0, 40
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			letters++
		}
	}
	switch {
	case letters == 0:
		n = 0
	case letters <= 20:
		n = 1
	case letters <= 120:
		n = 8
	}
	words := strings.TrimSpace(strings.Repeat("text ", n))
	switch {
	case chat.AsksQuestion(text):
		return words + "?"
	case strings.ContainsAny(text, "?？"):
		return "text? " + words
	}
	return words
}
