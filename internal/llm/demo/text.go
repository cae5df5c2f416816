package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"myao/internal/llm"
)

const (
	noticeEN = "I am myao's demo model (no language model is connected)."
	noticeJA = "myaoのデモモデルです（言語モデルは接続されていません）。"
)

// isDemoReply reports whether reply wrote the message.
func isDemoReply(text string) bool {
	return strings.HasPrefix(text, noticeEN) || strings.HasPrefix(text, noticeJA)
}

// The limits of a demo memory, in lines.
const (
	rememberLimit = 10 // of messages
	mergeLimit    = 20 // of other memories
)

// reply acknowledges the newest message, in Japanese if that is Japanese.
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

// shown says which files came with the question and with the newest results: their names, kinds and
// sizes, since rules see no pictures; "" without files.
func shown(r llm.Request, ja bool) string {
	files := slices.Clone(r.Files)
	if n := len(r.Turns); n > 0 {
		for _, result := range r.Turns[n-1].Results {
			files = append(files, result.Files...)
		}
	}
	var all []string
	for _, f := range files {
		all = append(all, f.String())
	}
	switch {
	case len(all) == 0:
		return ""
	case ja:
		return "\n見せてもらったファイル: " + strings.Join(all, "、")
	}
	return "\nI was shown: " + strings.Join(all, ", ")
}

// remember lists the newest messages, one dated line each. Without messages it lists
// the newest lines of the memories to merge.
func remember(lines []string) string {
	messages := messagesIn(lines)
	slices.SortStableFunc(messages, func(a, b message) int { return strings.Compare(a.at, b.at) })
	var known []string
	for _, m := range messages {
		known = append(known, fmt.Sprintf("- %s %s: %s", m.at[:len(time.DateOnly)], quote(m.author), quote(m.text)))
	}
	most := rememberLimit
	if len(messages) == 0 {
		most = mergeLimit
		for _, line := range bulletsIn(lines) {
			known = append(known, "- "+quote(strings.TrimPrefix(line, "- ")))
		}
		const day = len("- " + time.DateOnly)
		slices.SortStableFunc(known, func(a, b string) int { return strings.Compare(a[:day], b[:day]) })
	}
	known = unique(known)
	known = known[max(0, len(known)-most):]
	notice := noticeEN
	if japanese(strings.Join(known, "")) {
		notice = noticeJA
	}
	if len(known) == 0 {
		return "- " + notice + " There is nothing to remember."
	}
	return "- " + notice + "\n" + strings.Join(known, "\n")
}

// unique removes repeated lines: a prompt shows a thread's first message twice, and
// channels may remember the same.
func unique(lines []string) []string {
	seen := map[string]int{}
	return slices.DeleteFunc(lines, func(line string) bool {
		seen[line]++
		return seen[line] > 1
	})
}

// quote returns s on one line of bounded length.
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
