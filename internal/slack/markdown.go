package slack

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// zeroWidth is a zero-width space, which nobody sees.
const zeroWidth = "\u200b"

var (
	// verbatimPattern is code, which is shown as it stands.
	verbatimPattern = regexp.MustCompile("(?s)```.*?(?:```|$)|~~~.*?(?:~~~|$)|`[^`\n]+`")
	// hiddenPattern is what no emphasis begins or ends in: code, and the addresses of links.
	hiddenPattern = regexp.MustCompile(verbatimPattern.String() + `|\]\([^()\s]*\)|<[^<>\s]+>|https?://[!-)+-~]+`)
	// emphasisPattern is what begins emphasis, and ends it.
	emphasisPattern = regexp.MustCompile(`\*+|~~`)
	// callPattern begins a token that calls many people.
	callPattern = regexp.MustCompile(`(?i)<!(channel|here|everyone|group|subteam)`)
	// addressPattern is the address of a link, or a bare one with the character that follows it.
	addressPattern = regexp.MustCompile(`\]\([^()\s]*\)|<[^<>\s]+>|(https?://[!#-;=?-_a-z{}~]+)([^\x00-\x7f])?`)
)

// markdown makes a model's Markdown fit for a markdown block. Slack reads its own tokens
// there, too, so one that calls a whole channel or group is taken apart; an entity is shown as
// the character, but in code, and not read again as a token. Bare addresses end where the
// language around them has no spaces, and so does emphasis.
func markdown(s string) string {
	return separateEmphasis(rewriteAround(s, func(code string) string {
		return callPattern.ReplaceAllString(code, "&lt;!$1")
	}, func(prose string) string {
		return delimitAddresses(strings.ReplaceAll(prose, "<!", "&lt;!"))
	}))
}

// rewriteAround rewrites code and what is around it, each with its own function.
func rewriteAround(s string, code, prose func(string) string) string {
	var b strings.Builder
	last := 0
	for _, m := range verbatimPattern.FindAllStringIndex(s, -1) {
		b.WriteString(prose(s[last:m[0]]))
		b.WriteString(code(s[m[0]:m[1]]))
		last = m[1]
	}
	b.WriteString(prose(s[last:]))
	return b.String()
}

// delimitAddresses puts bare addresses that another script follows at once into angle brackets, in
// which Slack sees their end: in Japanese, what stands behind one would be part of it. Letters
// that follow a delimiter, as in /wiki/日本, are the address's own.
func delimitAddresses(prose string) string {
	var b strings.Builder
	last := 0
	for _, m := range addressPattern.FindAllStringSubmatchIndex(prose, -1) {
		if m[2] < 0 || m[4] < 0 {
			continue
		}
		address, tail := trimAddress(prose[m[2]:m[3]])
		follows, _ := utf8.DecodeRuneInString(prose[m[4]:])
		if unicode.IsSpace(follows) || tail == "" && unicode.IsLetter(follows) && !alphanumeric(rune(address[len(address)-1])) {
			continue
		}
		b.WriteString(prose[last:m[2]] + "<" + address + ">" + tail)
		last = m[3]
	}
	b.WriteString(prose[last:])
	return b.String()
}

// trimAddress takes from a bare address what ends the sentence or the emphasis around it, or closes
// a bracket that it does not open (github.github.com/gfm/#extended-autolink-path-validation).
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

// delimiter is a run of characters that begins or ends emphasis, and what it stands between.
type delimiter struct {
	from, to      int
	before, after rune
}

// space is what goes between the characters on both sides of a place.
type space struct {
	at   int
	text string
}

// separateEmphasis has Slack see emphasis beside characters of a script without spaces: where it is
// joined to a word, or to punctuation that is not ASCII's, a zero-width space keeps them apart.
// Punctuation within gets one, too (spec.commonmark.org/0.31.2/#right-flanking-delimiter-run),
// and so does code that is joined to such characters. Where code stands within emphasis that
// does not do, and the spaces are some that everybody sees, around the code as well.
// Without them Slack shows the asterisks of 詳細は**重要**です and of **注意：**次の, as was tried in
// its clients in 2026 (github.com/darkgaldragon/slack-markdown-parser, README.md and docs/spec.md).
func separateEmphasis(s string) string {
	var spaces []space
	put := func(at int, text string, wanted bool) {
		if wanted {
			spaces = append(spaces, space{at, text})
		}
	}
	codes := verbatimPattern.FindAllStringIndex(s, -1)
	within := map[int]bool{} // emphasis: code, by where it begins
	for _, e := range findEmphasis(s) {
		begin, end := e[0], e[1]
		before, after := joined(begin.before, begin.after), joined(end.after, end.before)
		coded := false
		for _, c := range codes {
			if c[0] < begin.to || c[0] >= end.from {
				continue
			}
			coded, within[c[0]] = true, true
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
		if before, after := around(s, c[0], c[1]); !within[c[0]] && before != '`' && after != '`' {
			put(c[0], zeroWidth, joined(before, '`'))
			put(c[1], zeroWidth, joined(after, '`'))
		}
	}
	slices.SortFunc(spaces, func(a, b space) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.text, b.text)) })
	var b strings.Builder
	last := 0
	for _, p := range slices.Compact(spaces) {
		b.WriteString(s[last:p.at] + p.text)
		last = p.at
	}
	b.WriteString(s[last:])
	return b.String()
}

// findEmphasis is what begins and what ends emphasis, pair by pair.
func findEmphasis(s string) (pairs [][2]delimiter) {
	hidden := hiddenPattern.FindAllStringIndex(s, -1)
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

// around is the characters before and behind a part of a text.
func around(s string, from, to int) (before, after rune) {
	before, _ = utf8.DecodeLastRuneInString(s[:from])
	after, _ = utf8.DecodeRuneInString(s[to:])
	return before, after
}

// blank reports whether a character is white space or, as utf8 tells of it, none.
func blank(r rune) bool { return r == utf8.RuneError || unicode.IsSpace(r) }

// mark reports whether a character is punctuation or a symbol.
func mark(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// joined reports whether Slack does not see emphasis between a character around it and one
// within. In 2**10 and 2**20 nobody means any.
func joined(around, within rune) bool {
	return !blank(around) && (around >= utf8.RuneSelf || alphanumeric(around) && within >= utf8.RuneSelf)
}

func alphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
