package workspace

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// typedReference matches addresses, @names and #channels in typed text.
var typedReference = regexp.MustCompile(`https?://[^\s<>]+|@[\pL\pN._-]+|#[\pL\pN_-]+`)

// Encode turns typed text into Slack's mrkdwn: it escapes &, < and >, replaces names of
// people and channels by ids, and puts addresses in brackets
// (docs.slack.dev/messaging/formatting-message-text).
func (w *Workspace) Encode(text string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return typedReference.ReplaceAllStringFunc(escape.Replace(text), func(word string) string {
		name := strings.TrimRight(word[1:], ".-_")
		rest := word[1+len(name):]
		switch word[0] {
		case 'h':
			return link(word)
		case '#':
			if c := w.channel(name); c != nil && c.Name == name {
				return "<#" + c.ID + "|" + c.Name + ">" + rest
			}
		case '@':
			longest := User{}
			for _, u := range w.users {
				if refersTo(name, u.Name) && len(u.Name) > len(longest.Name) {
					longest = *u
				}
			}
			if longest.ID != "" {
				return "<@" + longest.ID + ">" + word[1+len(longest.Name):]
			}
		}
		return word
	})
}

// refersTo reports whether a word is a name, or a name followed by Japanese text, which has
// no spaces: @myaoさん.
func refersTo(word, name string) bool {
	if len(word) < len(name) || !strings.EqualFold(word[:len(name)], name) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(word[len(name):])
	return len(word) == len(name) || unicode.In(next, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// link puts an address in brackets and leaves trailing punctuation outside.
func link(word string) string {
	end := len(word)
	for _, stop := range []string{"&lt;", "&gt;", "|"} {
		if i := strings.Index(word, stop); i >= 0 {
			end = min(end, i)
		}
	}
	address := strings.TrimRight(word[:end], ".,;:!?)]\"'*_")
	return "<" + address + ">" + word[len(address):]
}

var wireMention = regexp.MustCompile(`<@([A-Z0-9]+)(?:\|[^>]*)?>`)

// richText is the block that Slack's clients send along with typed text
// (docs.slack.dev/reference/block-kit/blocks/rich-text-block).
func richText(text string) json.RawMessage {
	type element = map[string]any
	var parts []element
	plain := func(s string) {
		if s != "" {
			parts = append(parts, element{"type": "text", "text": unescape.Replace(s)})
		}
	}
	last := 0
	for _, at := range wireMention.FindAllStringSubmatchIndex(text, -1) {
		plain(text[last:at[0]])
		parts = append(parts, element{"type": "user", "user_id": text[at[2]:at[3]]})
		last = at[1]
	}
	plain(text[last:])
	if len(parts) == 0 {
		return nil
	}
	raw, _ := json.Marshal([]element{{"type": "rich_text", "block_id": "b1",
		"elements": []element{{"type": "rich_text_section", "elements": parts}}}})
	return raw
}

// Slack escapes only these three characters (docs.slack.dev/messaging/formatting-message-text).
var (
	escape   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
)
