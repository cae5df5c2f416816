package prompt

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"myao/internal/chat"
)

// Slack's markup: <@U1>, <@U1|label>, <#C1|name>, <!here>, <!subteam^S1|@team>,
// <!date^…|fallback>, <https://…|label>, <mailto:…|label>. Literal &, < and > are entities
// (docs.slack.dev/messaging/formatting-message-text).
var (
	markup   = regexp.MustCompile(`<([^<>\n]+)>`)
	link     = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:[^\s]`)
	entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
)

// unescape replaces entities with their characters.
func unescape(s string) string {
	if !strings.Contains(s, "&") {
		return s // without a copy, for most texts
	}
	return entities.Replace(s)
}

// resolve turns Slack's markup into what a reader in Slack sees. The result must go through the guard,
// because what it inserts may be anything.
func (n names) resolve(text string, zone *time.Location) string {
	var b strings.Builder
	rest := 0
	for _, at := range markup.FindAllStringSubmatchIndex(text, -1) {
		shown, ok := n.token(text[at[2]:at[3]], zone)
		if !ok {
			continue
		}
		b.WriteString(unescape(text[rest:at[0]]))
		b.WriteString(shown)
		rest = at[1]
	}
	b.WriteString(unescape(text[rest:]))
	return b.String()
}

// token returns what Slack shows for the inside of <…>; ok is false if it is not markup.
func (n names) token(token string, zone *time.Location) (shown string, ok bool) {
	body, label, _ := strings.Cut(token, "|")
	label = strings.TrimSpace(unescape(label))
	if len(body) < 2 {
		return "", false
	}
	id := body[1:]
	switch body[0] {
	case '@':
		return "@" + pickName(n.users[id], label, id), true
	case '#':
		if isDirect(id) {
			return n.directName, true
		}
		return "#" + pickName(n.channels[id], label, id), true
	case '!':
		return special(id, label, zone), true
	}
	if !link.MatchString(body) {
		return "", false
	}
	address := unescape(body)
	scheme, bare, _ := strings.Cut(address, ":")
	if scheme = strings.ToLower(scheme); scheme == "mailto" || scheme == "tel" {
		address = bare // people write these without their scheme
	}
	switch label {
	case "":
		return address, true
	case address, strings.TrimPrefix(bare, "//"):
		return label, true
	}
	return label + " (" + address + ")", true
}

// special returns what Slack shows for <!…>: a mention of everybody, a user group or a date.
func special(body, label string, zone *time.Location) string {
	kind, rest, _ := strings.Cut(body, "^")
	switch kind {
	case "subteam":
		return "@" + pickName("", label, rest)
	case "date":
		seconds, _, _ := strings.Cut(rest, "^")
		if s, err := strconv.ParseInt(seconds, 10, 64); label == "" && err == nil {
			return time.Unix(s, 0).In(zone).Format(timeLayout)
		}
		return pickName(label, seconds)
	}
	return "@" + pickName("", label, kind)
}

// honorific matches the Japanese suffix of a name.
var honorific = regexp.MustCompile(`^ *(?:さん|さま|様|ちゃん|くん|君)`)

// BareMention reports whether a text contains only mentions of the bot, perhaps with an honorific.
// Such a message asks the bot to read the messages before it. bot is a user id.
func BareMention(text, bot string) bool {
	if bot == "" {
		return false
	}
	called := false
	rest := markup.ReplaceAllStringFunc(chat.Printable(text), func(token string) string {
		id, _, _ := strings.Cut(strings.Trim(token, "<>"), "|")
		if id != "@"+bot {
			return token
		}
		called = true
		return ""
	})
	rest = honorific.ReplaceAllString(fold(rest), "")
	return called && strings.Trim(rest, ".,:;!?、。~- ") == ""
}
