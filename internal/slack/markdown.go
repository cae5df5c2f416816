package slack

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// zeroWidth is an invisible zero-width space.
const zeroWidth = "\u200b"

var (
	// hiddenPattern matches the addresses of links, in which no emphasis begins or ends.
	hiddenPattern = regexp.MustCompile(`\]\([^()\s]*\)|<[^<>\s]+>|https?://[!-)+-~]+`)
	// emphasisPattern matches what begins or ends emphasis.
	emphasisPattern = regexp.MustCompile(`\*+|~~`)
	// callPattern matches the beginning of a token that notifies many people, and of a date, which may
	// be a link with a text (docs.slack.dev/messaging/formatting-message-text#date-formatting).
	callPattern = regexp.MustCompile(`(?i)<!(channel|here|everyone|group|subteam|date)\b`)
	// linkPrefix matches the beginning of a link in Slack's markup, and maskPattern that of whatever else
	// could be one. Code has the latter, as in <xs:pattern value="a|b"/>.
	linkPrefix  = regexp.MustCompile(`^<\s*(?i:[a-z][a-z0-9+.-]*://|mailto:|tel:)`)
	maskPattern = regexp.MustCompile(`<(?:[^\s<@#]|\s+(?i:[a-z][a-z0-9+.-]*://|mailto:|tel:))`)
	// addressPattern matches the address of a link, or a bare one with the character after it.
	addressPattern = regexp.MustCompile(`\]\([^()\s]*\)|<[^<>\s]+>|(https?://[!#-;=?-_a-z{}~]+)([^\x00-\x7f])?`)
)

// markdown prepares a model's Markdown for a markdown block. Slack reads its own tokens there, even
// in code, so tokens that notify a channel or group, and links with a text, are escaped. Slack shows
// an entity as its character, except in code, and does not read it as part of a token. Bare addresses
// and emphasis are separated from a text in a language without spaces.
func markdown(s string) string {
	return escapeLinks(separateEmphasis(RewriteAround(s, FindCode(s), func(code string) string {
		return callPattern.ReplaceAllString(code, "&lt;!$1")
	}, func(prose string) string {
		return delimitAddresses(strings.ReplaceAll(prose, "<!", "&lt;!"))
	})))
}

// escapeLinks escapes the beginning of each link in Slack's markup that has a text, and so hides
// its address: whatever begins like an address and comes to a bar before it ends. In code, which would
// show the entity, it escapes only what Slack makes a link of.
func escapeLinks(s string) string {
	code := FindCode(s)
	var b strings.Builder
	last, from := 0, 0
	for {
		length := strings.IndexAny(s[from:], "|>")
		if length < 0 {
			b.WriteString(s[last:])
			return b.String()
		}
		end := from + length
		if s[end] == '|' {
			for _, m := range maskPattern.FindAllStringIndex(s[from:end], -1) {
				if at := from + m[0]; linkPrefix.MatchString(s[at:]) || !within(code, at) {
					b.WriteString(s[last:at] + "&lt;")
					last = at + 1
				}
			}
		}
		from = end + 1
	}
}

// RewriteAround rewrites what is at the places of a text, such as code, and the text around it, each with its own
// function. The places are in order, as from FindCode.
func RewriteAround(s string, places [][]int, inside, around func(string) string) string {
	var b strings.Builder
	last := 0
	for _, m := range places {
		b.WriteString(around(s[last:m[0]]))
		b.WriteString(inside(s[m[0]:m[1]]))
		last = m[1]
	}
	b.WriteString(around(s[last:]))
	return b.String()
}

// delimitAddresses puts a bare address in angle brackets if another script follows it directly.
// Otherwise Slack takes the Japanese text after it for a part of the address. Letters after a
// delimiter, as in /wiki/日本, belong to the address.
func delimitAddresses(prose string) string {
	var b strings.Builder
	last := 0
	for _, m := range addressPattern.FindAllStringSubmatchIndex(prose, -1) {
		if m[2] < 0 || m[4] < 0 {
			continue
		}
		address, tail := trimAddress(prose[m[2]:m[3]])
		follows, _ := utf8.DecodeRuneInString(prose[m[4]:])
		if unicode.IsSpace(follows) || tail == "" && unicode.IsLetter(follows) &&
			!alphanumeric(rune(address[len(address)-1])) {
			continue
		}
		b.WriteString(prose[last:m[2]] + "<" + address + ">" + tail)
		last = m[3]
	}
	b.WriteString(prose[last:])
	return b.String()
}

// trimAddress cuts from a bare address what ends the sentence or emphasis around it, or closes a
// bracket that it does not open (github.github.com/gfm/#extended-autolink-path-validation).
func trimAddress(s string) (address, tail string) {
	for end := len(s); ; end-- {
		switch c := s[end-1]; {
		case strings.IndexByte("*_~.,:;!?'", c) >= 0:
		case c == ')' && strings.Count(s[:end], ")") > strings.Count(s[:end], "("):
		default:
			return s[:end], s[end:]
		}
	}
}

// delimiter is a run of characters that begins or ends emphasis, and the characters around it.
type delimiter struct {
	from, to      int
	before, after rune
}

// space is white space to insert.
type space struct {
	at   int
	text string
}

// separateEmphasis makes Slack recognise emphasis in a script without spaces. It puts a zero-width
// space between the emphasis and an adjoining word, or punctuation that is not ASCII. Punctuation at
// the inner ends gets one, too (spec.commonmark.org/0.31.2/#right-flanking-delimiter-run), and so
// does code next to such characters. For code within emphasis that is not enough: visible spaces go
// around both.
//
// Without the spaces Slack shows the asterisks of 詳細は**重要**です and of **注意：**次の. This was
// tried in its clients in 2026 (github.com/darkgaldragon/slack-markdown-parser, README.md and
// docs/spec.md).
func separateEmphasis(s string) string {
	var spaces []space
	put := func(at int, text string, wanted bool) {
		if wanted {
			spaces = append(spaces, space{at, text})
		}
	}
	codes := FindCode(s)
	emphasised := map[int]bool{} // offsets of the code within emphasis
	for _, e := range findEmphasis(s, codes) {
		begin, end := e[0], e[1]
		before, after := joined(begin.before, begin.after), joined(end.after, end.before)
		coded := false
		for _, c := range codes {
			if c[0] < begin.to || c[0] >= end.from {
				continue
			}
			coded, emphasised[c[0]] = true, true
			left, right := around(s, c[0], c[1])
			put(c[0], " ", left >= utf8.RuneSelf && unicode.IsLetter(left))
			put(c[1], " ", right >= utf8.RuneSelf && unicode.IsLetter(right))
		}
		if coded {
			put(begin.from, " ", (before || after) && joined(begin.before, utf8.MaxRune))
			put(end.to, " ", (before || after) && joined(end.after, utf8.MaxRune))
			continue
		}
		put(begin.from, zeroWidth, before)
		put(begin.to, zeroWidth, before && mark(begin.after))
		put(end.from, zeroWidth, after && mark(end.before))
		put(end.to, zeroWidth, after)
	}
	for _, c := range codes {
		if before, after := around(s, c[0], c[1]); !emphasised[c[0]] {
			put(c[0], zeroWidth, joined(before, '`'))
			put(c[1], zeroWidth, joined(after, '`'))
		}
	}
	slices.SortFunc(spaces, func(a, b space) int {
		return cmp.Or(cmp.Compare(a.at, b.at),
			strings.Compare(a.text, b.text))
	})
	var b strings.Builder
	last := 0
	for _, p := range slices.Compact(spaces) {
		b.WriteString(s[last:p.at] + p.text)
		last = p.at
	}
	b.WriteString(s[last:])
	return b.String()
}

// findEmphasis returns the pairs of delimiters that begin and end emphasis. None is in code, nor in the address of
// a link.
func findEmphasis(s string, codes [][]int) (pairs [][2]delimiter) {
	hidden := slices.Clone(codes)
	for _, m := range hiddenPattern.FindAllStringIndex(s, -1) {
		if !within(codes, m[0]) {
			hidden = append(hidden, m)
		}
	}
	slices.SortFunc(hidden, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	var open []delimiter
	last := 0
	for _, m := range emphasisPattern.FindAllStringIndex(s, -1) {
		for len(hidden) > 0 && hidden[0][1] <= m[0] {
			hidden = hidden[1:]
		}
		d := delimiter{from: m[0], to: m[1]}
		d.before, d.after = around(s, d.from, d.to)
		if len(hidden) > 0 && hidden[0][0] <= d.from || d.before == '\\' {
			continue
		}
		if strings.Contains(s[last:d.from], "\n") {
			open = nil
		}
		last = d.to
		top := len(open) - 1
		switch {
		case top >= 0 && s[open[top].from:open[top].to] == s[d.from:d.to] && !blank(d.before):
			pairs = append(pairs, [2]delimiter{open[top], d})
			open = open[:top]
		case !blank(d.after):
			open = append(open, d)
		}
	}
	return pairs
}

// around returns the characters before and after a part of a text.
func around(s string, from, to int) (before, after rune) {
	before, _ = utf8.DecodeLastRuneInString(s[:from])
	after, _ = utf8.DecodeRuneInString(s[to:])
	return before, after
}

// blank reports whether a character is white space, or absent (utf8.RuneError).
func blank(r rune) bool { return r == utf8.RuneError || unicode.IsSpace(r) }

// mark reports whether a character is punctuation or a symbol.
func mark(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// joined reports whether Slack fails to see emphasis between a character outside and one inside. In
// 2**10 and 2**20 there is no emphasis.
func joined(around, within rune) bool {
	return !blank(around) && (around >= utf8.RuneSelf || alphanumeric(around) && within >= utf8.RuneSelf)
}

func alphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
