package phrases

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"myao/internal/chat"
)

var mentionPattern = regexp.MustCompile(`<@([A-Z0-9]+)(?:\|[^>]*)?>`)

// MentionsOther reports whether a text mentions somebody else than the bot, whose user id is bot.
func MentionsOther(text, bot string) bool {
	return slices.ContainsFunc(mentionPattern.FindAllStringSubmatch(text, -1),
		func(m []string) bool { return m[1] != bot })
}

// Names reports whether a text holds a name as a word of its own.
func Names(text, name string) bool {
	text, name = fold(text), fold(name)
	if name == "" {
		return false
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		before, after := text[:from+i], text[from+i+len(name):]
		if !endsInLatin(before) && !beginsInLatin(after) {
			return true
		}
		from += i + len(name)
	}
}

func latin(r rune) bool { return unicode.In(r, unicode.Latin) || unicode.IsDigit(r) || r == '_' }

func endsInLatin(s string) bool   { r := []rune(s); return len(r) > 0 && latin(r[len(r)-1]) }
func beginsInLatin(s string) bool { r := []rune(s); return len(r) > 0 && latin(r[0]) }

// fold makes texts comparable: NFKC, lower case.
func fold(s string) string { return strings.ToLower(norm.NFKC.String(s)) }

// vocativePattern is what may follow a name that somebody is called by: an honorific, or a comma or colon.
var vocativePattern = regexp.MustCompile(`^(?:\s*(?:さん|くん|君|ちゃん|様|さま|氏|先生|先輩|部長|課長|社長)[、,，:：\s!！]|\s*[、,，:：])`)

// greetingPattern may stand before the name.
var greetingPattern = regexp.MustCompile(`^(?:(?:hey|hi|hello|dear|ok|so)[\s,]+|@)`)

// CallsMember reports whether a message opens with the name of a member other than its author and
// the bot, and with what follows a name that one is called by.
func CallsMember(m chat.Message, botName string, members []string) bool {
	text := greetingPattern.ReplaceAllString(strings.TrimSpace(fold(m.Text)), "")
	bot := fold(botName)
	for _, name := range members {
		full := fold(name)
		first, _, _ := strings.Cut(full, " ")
		for _, n := range []string{full, first} {
			if len([]rune(n)) < 2 || n == bot || full == fold(m.Name) {
				continue
			}
			if rest, ok := strings.CutPrefix(text, n); ok && vocativePattern.MatchString(rest) {
				return true
			}
		}
	}
	return false
}
