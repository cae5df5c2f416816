package phrases

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"myao/internal/chat"
)

var mentionPattern = regexp.MustCompile(`<@([A-Z0-9]+)(?:\|[^>]*)?>`)

// MentionsOther reports whether a text mentions somebody else than the bot, whose user id is bot.
func MentionsOther(text, bot string) bool {
	return MentionsAny(text, func(user string) bool { return user != bot })
}

// MentionsAny reports whether a text mentions one of some users.
func MentionsAny(text string, one func(user string) bool) bool {
	return slices.ContainsFunc(mentionPattern.FindAllStringSubmatch(text, -1),
		func(m []string) bool { return one(m[1]) })
}

// unspoken matches what of a message in Slack's markup its author does not say: code, quoted lines, links,
// mentions and emoji.
var unspoken = regexp.MustCompile("(?s:```.*?(?:```|$))|`[^`\n]*`|(?m:^[ \t]*(?:>|&gt;).*$)" +
	"|<[^<>\n]*>|:[\\p{L}\\p{N}_+-]+:")

// Names reports whether a message's text has one of some names as a word. A letter or digit of its own
// script beside it makes a name part of another word; only an honorific after kanji does not. A name in a
// script that is not among runs, such as hiragana, counts wherever it stands: nothing is put between words there.
func Names(text string, names ...string) bool {
	text = unspaced(unspoken.ReplaceAllString(text, " "))
	return slices.ContainsFunc(names, func(name string) bool {
		name = unspaced(name)
		for from := 0; name != ""; {
			i := strings.Index(text[from:], name)
			if i < 0 {
				break
			}
			start, end := from+i, from+i+len(name)
			rest := text[end:]
			if last, _ := utf8.DecodeLastRuneInString(name); unicode.Is(unicode.Han, last) {
				rest = honorificPattern.ReplaceAllString(rest, "")
			}
			if !oneWord(text[:start], name, runs...) && !oneWord(name, rest, runs...) {
				return true
			}
			_, size := utf8.DecodeRuneInString(name)
			from = start + size
		}
		return false
	})
}

// unspaced is fold with one space wherever there is any.
func unspaced(s string) string { return strings.Join(strings.Fields(fold(s)), " ") }

// script is what the characters of a word are among.
type script []*unicode.RangeTable

var (
	latin = script{unicode.Latin, unicode.Nd, unicode.Mn, unicode.Pc}
	// runs are the scripts in which letters that stand side by side are one word. U+30FC lengthens a vowel in katakana.
	runs = []script{
		latin, {unicode.Cyrillic, unicode.Nd, unicode.Mn}, {unicode.Greek, unicode.Nd, unicode.Mn}, {unicode.Han},
		{unicode.Katakana, {R16: []unicode.Range16{{Lo: 0x30fc, Hi: 0x30fc, Stride: 1}}}},
	}
)

// oneWord reports whether the end of one text and the beginning of the next belong to one word of some script.
func oneWord(before, after string, scripts ...script) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	return before != "" && after != "" && slices.ContainsFunc(scripts, func(s script) bool {
		return unicode.In(last, s...) && unicode.In(first, s...)
	})
}

// honorificPattern matches what is put after a name in kanji, in kanji.
var honorificPattern = regexp.MustCompile(`^(?:様|君|氏|殿|先生|先輩)`)

// fold makes texts comparable: NFKC, without case.
func fold(s string) string { return cases.Fold().String(norm.NFKC.String(s)) }

// vocativePattern is what may follow a name that somebody is called by: an honorific, or a comma or colon.
var vocativePattern = regexp.MustCompile(`^(?:\s*(?:さん|くん|君|ちゃん|様|さま|氏|先生|先輩|部長|課長|社長)[、,，:：\s!！]|\s*[、,，:：])`)

// greetingPattern may stand before the name.
var greetingPattern = regexp.MustCompile(`^(?:(?:hey|hi|hello|dear|ok|so)[\s,]+|@)`)

// CallsMember reports whether a message opens with the name of a member other than its author and
// the bot, and with what follows a name that one is called by.
func CallsMember(m chat.Message, bot, members []string) bool {
	text := greetingPattern.ReplaceAllString(strings.TrimSpace(fold(m.Text)), "")
	for _, name := range members {
		full := fold(name)
		first, _, _ := strings.Cut(full, " ")
		for _, n := range []string{full, first} {
			isBot := slices.ContainsFunc(bot, func(name string) bool { return n == fold(name) })
			if len([]rune(n)) < 2 || isBot || full == fold(m.Name) {
				continue
			}
			if rest, ok := strings.CutPrefix(text, n); ok && vocativePattern.MatchString(rest) {
				return true
			}
		}
	}
	return false
}
