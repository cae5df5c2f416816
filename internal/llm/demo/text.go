package demo

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	noticeEN = "I am myao's demo model (no language model is connected)."
	noticeJA = "myaoのデモモデルです（言語モデルは接続されていません）。"
)

// rememberLimit is how many messages a demo memory lists.
const rememberLimit = 5

// reply acknowledges the newest message, in Japanese where that is.
func reply(messages []message) string {
	if len(messages) == 0 {
		return noticeEN + " I see no message to answer."
	}
	last := messages[len(messages)-1]
	said := quote(last.text)
	switch ja := japanese(last.text); {
	case ja:
		return fmt.Sprintf("%s%sさんの「%s」を受け取りました。", noticeJA, quote(last.author), said)
	case said == "":
		return fmt.Sprintf("%s %s wrote something without text.", noticeEN, quote(last.author))
	default:
		return fmt.Sprintf("%s %s wrote: “%s”", noticeEN, quote(last.author), said)
	}
}

// remember lists the newest messages, one dated line each.
func remember(messages []message) string {
	lines := []string{"- " + noticeEN}
	if len(messages) == 0 {
		lines = append(lines, "- No messages to remember.")
	}
	for _, m := range messages[max(0, len(messages)-rememberLimit):] {
		day, _, _ := strings.Cut(m.at, " ")
		lines = append(lines, fmt.Sprintf("- %s %s: %s", day, quote(m.author), quote(m.text)))
	}
	return strings.Join(lines, "\n")
}

// quote is s on one line and of bounded length.
func quote(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > quoteLimit {
		return string(r[:quoteLimit]) + "…"
	}
	return s
}

func japanese(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Han)
	})
}
