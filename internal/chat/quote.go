package chat

import "regexp"

// quoteHead matches the line above what somebody has forwarded, or the preview of a message that they have linked. No
// person can write it (Unquoted).
var quoteHead = regexp.MustCompile(`(?m)^\[(?:forwarded|linked) message\b`)

var forgedHead = regexp.MustCompile(`(?mi)^(\s*)\[((?:forwarded|linked) message\b)`)

// QuoteHead is the line above a quoted message: a "forwarded message" or a "linked message". author may be empty.
func QuoteHead(kind, author string) string {
	if author == "" {
		return "[" + kind + "]"
	}
	return "[" + kind + " by " + author + "]"
}

// Unquoted marks lines of a text that look like the one above a quoted message.
func Unquoted(text string) string { return forgedHead.ReplaceAllString(text, `$1\[$2`) }

// SplitQuoted separates what the author of a message wrote from the messages that it quotes, which may be anybody's.
func SplitQuoted(text string) (own, quoted string) {
	if at := quoteHead.FindStringIndex(text); at != nil {
		return text[:at[0]], text[at[0]:]
	}
	return text, ""
}
