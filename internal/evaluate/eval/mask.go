package eval

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/slack"
)

// masker takes out of texts what tells who wrote them and what about: names, links, mail addresses, numbers, keys.
type masker struct {
	*pseudonyms
	bot      string // user id
	names    knownNames
	apps     map[string]bool   // users who are apps, by id
	channels map[string]string // ids of channels by name
	// here are the people of the case at hand.
	here map[string]bool
	// noText replaces all words.
	noText bool
}

const (
	maskedLink   = "https://example.com"
	maskedDomain = "example.com"
	maskedMail   = "someone@example.com"
	maskedKey    = "[secret]"
	maskedDigit  = 'N'
)

var (
	markupPattern = regexp.MustCompile(`<[^<>\n]+>`)
	userPattern   = regexp.MustCompile(`^@[A-Z0-9]+$`)
	addressScheme = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:\S`)
)

// text is Slack's mrkdwn without what it must not tell.
func (m *masker) text(text string) string {
	if m.noText {
		return m.shape(text)
	}
	return slack.RewriteAround(text, markupPattern.FindAllStringIndex(text, -1), m.token, m.plain)
}

// person is the pseudonym of a user or an app.
func (m *masker) person(id string) pseudonym {
	if m.apps[id] {
		return m.of(anApp, id)
	}
	return m.of(aPerson, id)
}

// app is the pseudonym of an app that wrote a message. A person may write by an app, too.
func (m *masker) app(by chat.Message) pseudonym {
	if m.apps[by.UserID] {
		return m.of(anApp, by.UserID)
	}
	return m.of(anApp, by.BotID)
}

// token masks Slack's markup: <@U1>, <#C1|name>, <!here>, <https://…|label>.
func (m *masker) token(token string) string {
	body, label, _ := strings.Cut(token[1:len(token)-1], "|")
	switch {
	case userPattern.MatchString(body):
		return m.mention(body[1:])
	case strings.HasPrefix(body, "#"):
		c := m.of(aChannel, body[1:])
		return "<#" + c.id + "|" + c.name + ">"
	case strings.HasPrefix(body, "!subteam^"):
		g := m.of(aGroup, body)
		return "<!subteam^" + g.id + "|@" + g.name + ">"
	case slices.Contains([]string{"!here", "!channel", "!everyone"}, body):
		return "<" + body + ">"
	case strings.HasPrefix(body, "!"): // a date
		return m.plain(label)
	case !addressScheme.MatchString(body):
		return "<" + m.plain(token[1:len(token)-1]) + ">"
	}
	scheme, bare, _ := strings.Cut(body, ":")
	address := maskedLink
	switch scheme {
	case "mailto":
		address = "mailto:" + maskedMail
	case "tel":
		address = "tel:" + maskDigits(bare)
	}
	if label == "" || label == body || label == strings.TrimPrefix(bare, "//") {
		return "<" + address + ">"
	}
	return "<" + address + "|" + m.plain(label) + ">"
}

func (m *masker) mention(user string) string {
	if user == m.bot {
		return "<@" + BotID + ">"
	}
	return "<@" + m.person(user).id + ">"
}

// addressPattern matches links, mail addresses, domains, long words that may be keys, and ids.
var addressPattern = regexp.MustCompile(`(?i:[a-z][a-z0-9+.-]*://[!-;=?-~]+)` +
	`|[\w.%+-]+@[\w-]+(?:\.[\w-]+)+` +
	`|(?i:(?:[a-z0-9_-]+\.)+(?:com|org|net|io|dev|app|ai|co|info|biz|cloud|local|internal|corp|lan|jp|de|uk|eu|fr|us|ca|ch|at|nl|in|kr|cn|tw)\b(?:[:/][!-;=?-~]*)?)` +
	`|[\w+=-]{20,}|\b[A-Z][A-Z0-9]{7,}\b`)

// plain masks what is no markup.
func (m *masker) plain(text string) string {
	mask := func(string) string { return maskedKey }
	return slack.RewriteAround(text, tools.Credentials(text), mask, func(text string) string {
		return slack.RewriteAround(text, addressPattern.FindAllStringIndex(text, -1), m.address, m.words)
	})
}

func (m *masker) address(found string) string {
	bare := strings.TrimRight(found, ".,;:!?)\"'")
	end := found[len(bare):]
	number, letter := strings.ContainsFunc(bare, unicode.IsDigit), strings.ContainsFunc(bare, unicode.IsLetter)
	switch {
	case strings.Contains(bare, "://"):
		return maskedLink + end
	case strings.Contains(bare, "@"):
		return maskedMail + end
	case strings.Contains(bare, "."):
		return maskedDomain + end
	case len(bare) >= 20 && number && letter:
		return maskedKey + end
	case number && letter:
		return strings.Repeat(string(maskedDigit), len(bare)) + end
	}
	return m.words(found)
}

// words masks names and numbers.
func (m *masker) words(text string) string {
	runes, folded := []rune(text), foldName(text)
	var b strings.Builder
	from := 0
	for i := 0; i < len(runes); i++ {
		name, length := m.nameAt(runes, folded, i)
		if length == 0 {
			continue
		}
		b.WriteString(maskDigits(string(runes[from:i])))
		b.WriteString(name)
		i += length - 1
		from = i + 1
	}
	b.WriteString(maskDigits(string(runes[from:])))
	return b.String()
}

// everybody are words after @ that are nobody's names.
var everybody = []string{"here", "channel", "everyone", "all", "someone"}

// nameAt masks the name that begins at an index. It also returns the length of that name, or 0 if no name begins there.
func (m *masker) nameAt(runes, folded []rune, i int) (masked string, length int) {
	switch r := runes[i]; {
	case (r == '@' || r == '#') && i+1 < len(runes) && unicode.IsLetter(runes[i+1]) &&
		(i == 0 || !joined('a', runes[i-1])):
		end := i + 1
		for end < len(runes) && (unicode.IsLetter(runes[end]) || unicode.IsNumber(runes[end]) ||
			strings.ContainsRune("-_.", runes[end])) {
			end++
		}
		for strings.ContainsRune("-_.", runes[end-1]) {
			end--
		}
		word := string(folded[i+1 : end])
		if r == '#' {
			return "#" + m.channelNamed(word).name, end - i
		}
		if name, length := m.knownAt(runes, folded, i+1); length > 0 {
			return "@" + name, length + 1
		}
		if slices.Contains(everybody, word) {
			return string(runes[i:end]), end - i
		}
		return "@" + m.of(aPerson, "@"+word).name, end - i
	default:
		if name, length := m.knownAt(runes, folded, i); length > 0 {
			return name, length
		}
		return m.calledAt(runes, folded, i)
	}
}

func (m *masker) knownAt(runes, folded []rune, i int) (masked string, length int) {
	n, length := m.names.at(runes, folded, i, m.here)
	switch {
	case length == 0:
		return "", 0
	case n.channel != "":
		return m.of(aChannel, n.channel).name, length
	}
	return m.person(n.user).name, length
}

// channelNamed is the pseudonym of a channel by its name, which may be unknown.
func (m *masker) channelNamed(name string) pseudonym {
	if id, ok := m.channels[name]; ok {
		name = id
	}
	return m.of(aChannel, name)
}

var (
	calledPattern = regexp.MustCompile(`^([\p{Han}\p{Katakana}ー]{1,6})(?:さん|くん|ちゃん|さま)`)
	// nobodyPattern matches what is called so and is no name.
	nobodyPattern = regexp.MustCompile(`^(?:皆|客|奥|母|父|兄|姉|弟|妹|娘|嫁|孫|坊|神|息子|子供|.*[者員屋方先])$`)
)

// calledAt is nameAt for a Japanese name that is only known as one by the honorific behind it.
func (m *masker) calledAt(runes, folded []rune, i int) (masked string, length int) {
	part := func(r rune) bool { return unicode.In(r, unicode.Han, unicode.Katakana) || r == 'ー' }
	if !part(runes[i]) || i > 0 && part(runes[i-1]) {
		return "", 0
	}
	called := calledPattern.FindStringSubmatch(string(runes[i:min(len(runes), i+10)]))
	if called == nil || nobodyPattern.MatchString(called[1]) {
		return "", 0
	}
	length = len([]rune(called[1]))
	for j := i + 1; j < i+length; j++ {
		if _, known := m.names.at(runes, folded, j, m.here); known > 0 {
			return "", 0
		}
	}
	return m.of(aPerson, "@"+called[1]).name, length
}

// plusOne matches a vote of +1 or -1, which is no number.
var plusOne = regexp.MustCompile(`(?:^|[\s:])[+-](1)(?:$|[:!！。、\n]|\s+[^\d\s(])`)

// maskDigits replaces each digit, so that a time stays to be seen as a time.
func maskDigits(text string) string {
	return slack.RewriteAround(text, votes(text), func(one string) string { return one }, func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return maskedDigit
			}
			return r
		}, text)
	})
}

func votes(text string) (places [][]int) {
	for _, at := range plusOne.FindAllStringSubmatchIndex(text, -1) {
		places = append(places, at[2:])
	}
	return places
}

// emoji is the name of a reaction; a workspace's own emoji may be named after people.
func (m *masker) emoji(name string) string {
	bare, _, _ := strings.Cut(name, "::")
	if bare == "+1" || bare == "-1" {
		return bare
	}
	return m.words(bare)
}
