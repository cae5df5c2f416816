package slack

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Escape turns Slack's three control characters into entities
// (docs.slack.dev/messaging/formatting-message-text#escaping).
func Escape(s string) string { return escapes.Replace(s) }

var (
	// verbatimPattern matches code, which Slack shows unchanged.
	verbatimPattern = regexp.MustCompile("(?s)```.*?(?:```|$)|~~~.*?(?:~~~|$)|`[^`\n]+`")
	boldPattern     = regexp.MustCompile(`\*\*(\S(?:[^*\n]*\S)?)\*\*`)
	linkPattern     = regexp.MustCompile(`\[([^\[\]\n|]+)\]\((https?://[^\s()|]+)\)`)
	headingPattern  = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *#*$`)
)

// mrkdwn converts Markdown for Slack's plain text field. It escapes everything, so that no mention
// or link of the model's counts as one of Slack's. Then it rewrites headings, bold and links outside
// code. The address of a link stands beside its text, because what is code for one reader may be a
// link for another (docs.slack.dev/messaging/formatting-message-text).
func mrkdwn(s string) string {
	s = Escape(s)
	return RewriteAround(s, verbatimPattern.FindAllStringIndex(s, -1), func(code string) string { return code }, prose)
}

func prose(s string) string {
	s = bold(s)
	s = linkPattern.ReplaceAllString(s, "$1 (<$2>)")
	return headingPattern.ReplaceAllStringFunc(s, func(line string) string {
		title := headingPattern.FindStringSubmatch(line)[1]
		return "*" + strings.ReplaceAll(title, "*", "") + "*"
	})
}

// bold converts bold text. Beside a script without spaces Slack would show the asterisks, so they
// are left out. Asterisks within an ASCII word are no emphasis.
func bold(s string) string {
	var b strings.Builder
	last := 0
	for _, m := range boldPattern.FindAllStringSubmatchIndex(s, -1) {
		before, after := around(s, m[0], m[1])
		first, _ := utf8.DecodeRuneInString(s[m[2]:])
		end, _ := utf8.DecodeLastRuneInString(s[:m[3]])
		asterisk := "*"
		switch {
		case joined(before, first) || joined(after, end):
			asterisk = ""
		case alphanumeric(before) || alphanumeric(after) || before == '\\':
			asterisk = "**"
		}
		b.WriteString(s[last:m[0]] + asterisk + s[m[2]:m[3]] + asterisk)
		last = m[1]
	}
	b.WriteString(s[last:])
	return b.String()
}

// Unescape is the inverse of Escape, for what people type.
func Unescape(text string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}
