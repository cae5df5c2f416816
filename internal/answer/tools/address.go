package tools

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An address counts only as it was written, byte for byte: a model that composes one, or spells one
// differently, could carry what it has read to whoever owns the host (Written).

var (
	// slackToken matches Slack's markup, slackEntities is how it writes these characters elsewhere
	// (docs.slack.dev/messaging/formatting-message-text).
	slackToken    = regexp.MustCompile(`<([^<>\n]+)>`)
	slackEntities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
	scheme        = regexp.MustCompile(`(?i)https?://`)
)

// inMessage finds an address in a message, in Slack's markup, and returns it with its scheme. People
// leave that out, and Slack shows the address so.
func inMessage(message, address string) (whole string, found bool) {
	if address == "" {
		return "", false
	}
	for _, token := range slackToken.FindAllStringSubmatch(message, -1) {
		target, label, _ := strings.Cut(token[1], "|")
		target, label = slackEntities.Replace(target), slackEntities.Replace(label)
		at := scheme.FindStringIndex(target)
		switch {
		case at == nil || at[0] > 0:
		case target == address, label == address && label == target[at[1]:]:
			return target, true
		}
	}
	rest := slackToken.ReplaceAllStringFunc(message, func(token string) string {
		_, label, _ := strings.Cut(token[1:len(token)-1], "|")
		return "\u200b " + label + " " // so that what stands directly before is no address: it goes on in the token
	})
	return address, inText(slackEntities.Replace(rest), address)
}

// inText reports whether an address stands in a text, by itself.
func inText(text, address string) bool {
	if at := scheme.FindStringIndex(address); at == nil || at[0] > 0 || !strings.Contains(text, address) {
		return false
	}
	for from := 0; ; {
		start, end := nextAddress(text, from)
		if start < 0 {
			return false
		}
		from = end
		bare := strings.TrimRight(text[start:end], sentenceEnds)
		switch {
		case strings.HasSuffix(text[start:end], "..") || strings.HasPrefix(text[end:], "…"): // a beginning
		case address == bare, start > 0 && strings.IndexByte(emphasis, text[start-1]) >= 0 &&
			address == strings.TrimRight(bare, sentenceEnds+text[start-1:start]):
			return true
		}
	}
}

const (
	// sentenceEnds are what people write behind an address, emphasis is what Markdown puts there.
	sentenceEnds = ".,:;!?'"
	emphasis     = "*_~"
	// outside are the ASCII characters that no address has (RFC 3986, appendix A).
	outside = "\"<>\\^`{|}"
)

// nextAddress is where the first address in a text begins and ends, from a position on; start is -1 if
// there is none.
func nextAddress(text string, from int) (start, end int) {
	for {
		at := scheme.FindStringIndex(text[from:])
		if at == nil {
			return -1, -1
		}
		start, end = from+at[0], from+at[1]
		if start == 0 || !partOfScheme(text[start-1]) {
			break
		}
		from = end
	}
	open := map[rune]int{}
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		switch {
		case r <= ' ' || r == 0x7f || strings.ContainsRune(outside, r):
			return start, end
		case r == '(' || r == '[':
			open[r]++
		case r == ')' || r == ']':
			opening := map[rune]rune{')': '(', ']': '['}[r]
			if open[opening] == 0 {
				return start, end
			}
			open[opening]--
		case r > unicode.MaxASCII && (unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r)):
			return start, end
		}
		end += size
	}
	return start, end
}

// partOfScheme reports whether a character before "http" makes another scheme of it.
func partOfScheme(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+-.", c) >= 0
}

// inWords finds the address of a person or a telephone in a text: mailto: or tel:, as a whole word. People
// write both without their scheme.
func inWords(text, address string) bool {
	_, bare, found := strings.Cut(address, ":")
	if !found || bare == "" {
		return false
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return unicode.IsSpace(r) ||
			strings.ContainsRune("<>|()[]\"", r)
	}) {
		if word = strings.TrimRight(strings.TrimLeft(word, emphasis), sentenceEnds+emphasis); word == bare ||
			word == address {
			return true
		}
	}
	return false
}

// withoutCutAddress removes from the end of a text an address that may have been cut there.
func withoutCutAddress(text string) string {
	for from := 0; ; {
		start, end := nextAddress(text, from)
		switch {
		case start < 0:
			return text
		case end == len(text):
			return text[:start]
		}
		from = end
	}
}
