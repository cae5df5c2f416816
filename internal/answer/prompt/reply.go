package prompt

import (
	"cmp"
	"regexp"
	"strings"

	"myao/internal/chat"
)

// timePattern matches timeLayout.
const timePattern = `\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}`

// SafeReply returns the reply of a model as it may be posted: without invisible characters, without
// a speaker label, without invented messages, with the address of each link in sight that nobody has
// written, and with at most maxMentions people mentioned. shown is the prompt that the model answered.
func SafeReply(reply, shown string, written func(address string) bool, p chat.Persona) string {
	reply = cutInventedMessages(stripSpeakerLabel(chat.Printable(reply), p), shown)
	return limitMentions(revealLinks(reply, written))
}

// Unwritten is for a text whose addresses count for nothing, whoever wrote them.
func Unwritten(string) bool { return false }

// maxMentions bounds how many people a reply notifies, in all its parts together.
const maxMentions = 5

// mentionPattern matches a mention of a person, or its beginning, and what could make a link of the
// text in front of it. List<@NonNull String> mentions nobody.
var mentionPattern = regexp.MustCompile(`<+@([UW][A-Z0-9]+)\b(?:(?:\|([^<>\n]*))?>([(:]?))?`)

// limitMentions makes plain text of the mentions of all people but the first maxMentions.
func limitMentions(reply string) string {
	mentioned := map[string]bool{}
	return mentionPattern.ReplaceAllStringFunc(reply, func(mention string) string {
		m := mentionPattern.FindStringSubmatch(mention)
		if mentioned[m[1]] || len(mentioned) < maxMentions {
			mentioned[m[1]] = true
			return mention
		}
		name := "@" + pickName("", m[2], m[1])
		if m[3] != "" {
			return name + " " + m[3]
		}
		return name
	})
}

// stripSpeakerLabel removes the message line, or only the bot's name, from the beginning of a reply.
// Models copy it from the messages in the prompt, although the prompt forbids it. If nothing visible would
// be left, the reply does not change.
func stripSpeakerLabel(reply string, p chat.Persona) string {
	label := regexp.MustCompile(`^\\?(?:\*{0,2}` + timePattern + `\*{0,2}\s+)?\*{0,2}(?i:` +
		regexp.QuoteMeta(cmp.Or(cleanName(p.Name), defaultName)) + `)(?: \(<@[A-Z0-9]+>\))?\*{0,2}(?::\*{0,2}\s|：\*{0,2})`)
	reply = strings.TrimSpace(reply)
	if at := label.FindStringIndex(reply); at != nil && Visible(reply[at[1]:]) {
		return strings.TrimSpace(reply[at[1]:])
	}
	return reply
}

// messageLine matches the line above a message in the prompt: its time and its author.
var messageLine = regexp.MustCompile(`(?m)^[ \t]*\\?(\*\*` + timePattern + `\*\*)( [^\n]*:)[ \t]*$`)

// labelledLine matches what others say in a chat turn: the label, and the rest of its line.
var labelledLine = regexp.MustCompile(`(?m)^[ \t]*\\?([^\n]{1,100} \((?:<@[A-Z0-9]+>|app)\): )[^\n]*`)

// cutInventedMessages removes messages that a model wrote after its reply in the names of people in
// the prompt. shown is that prompt: a message line that it contains is a quotation and stays. If nothing
// visible would be left, the reply does not change.
func cutInventedMessages(reply, shown string) string {
	for _, at := range messageLine.FindAllStringSubmatchIndex(reply, -1) {
		when, who := reply[at[2]:at[3]], reply[at[4]:at[5]]
		invented := strings.Contains(shown, "**"+who+"\n") && !strings.Contains(shown, when+who+"\n")
		if before := strings.TrimSpace(reply[:at[0]]); invented && Visible(before) {
			return before
		}
	}
	for _, at := range labelledLine.FindAllStringSubmatchIndex(reply, -1) {
		invented := strings.Contains(shown, reply[at[2]:at[3]]) && !strings.Contains(shown, reply[at[2]:at[1]])
		if before := strings.TrimSpace(reply[:at[0]]); invented && Visible(before) {
			return before
		}
	}
	return reply
}
