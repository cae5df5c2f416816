package slack

import (
	"regexp"
	"strings"
)

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Escape turns Slack's three control characters into entities
// (docs.slack.dev/messaging/formatting-message-text#escaping).
func Escape(s string) string { return escapes.Replace(s) }

// markdown makes a model's Markdown fit for a markdown block. Slack reads its own
// tokens there, too, so one that calls a whole channel or group is taken apart; an
// entity is shown as the character and not read again as a token.
func markdown(s string) string { return strings.ReplaceAll(s, "<!", "&lt;!") }

var (
	literalPattern = regexp.MustCompile("(?s)```.*?(?:```|$)|`[^`\n]+`")
	boldPattern    = regexp.MustCompile(`\*\*(\S(?:[^*\n]*\S)?)\*\*`)
	linkPattern    = regexp.MustCompile(`\[([^\[\]\n|]+)\]\((https?://[^\s()|]+)\)`)
	headingPattern = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *#*$`)
)

// mrkdwn is Markdown as Slack's plain text field shows it: everything escaped, so that
// no mention or link of the model's passes as one of Slack's; then headings, bold and
// links outside code rewritten (docs.slack.dev/messaging/formatting-message-text).
func mrkdwn(s string) string {
	s = Escape(s)
	var b strings.Builder
	last := 0
	for _, code := range literalPattern.FindAllStringIndex(s, -1) {
		b.WriteString(prose(s[last:code[0]]))
		b.WriteString(s[code[0]:code[1]])
		last = code[1]
	}
	b.WriteString(prose(s[last:]))
	return b.String()
}

func prose(s string) string {
	s = boldPattern.ReplaceAllString(s, "*$1*")
	s = linkPattern.ReplaceAllString(s, "<$2|$1>")
	return headingPattern.ReplaceAllStringFunc(s, func(line string) string {
		title := headingPattern.FindStringSubmatch(line)[1]
		return "*" + strings.ReplaceAll(title, "*", "") + "*"
	})
}
