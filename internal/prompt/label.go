package prompt

import (
	"cmp"
	"regexp"
	"strings"

	"myao/internal/chat"
)

// timePattern is what is written by timeLayout.
const timePattern = `\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}`

// StripSpeakerLabel is a reply without the message line, or the name alone, that a model puts in
// front of it, after the pattern of what it was shown and against what it was told. Where
// nothing else could be seen of it, it stays as it is.
func StripSpeakerLabel(reply string, p chat.Persona) string {
	label := regexp.MustCompile(`^\\?(?:\*{0,2}` + timePattern + `\*{0,2}\s+)?\*{0,2}(?i:` +
		regexp.QuoteMeta(cmp.Or(cleanName(p.Name), defaultName)) + `)\*{0,2}(?::\*{0,2}\s|：\*{0,2})`)
	reply = strings.TrimSpace(reply)
	if at := label.FindStringIndex(reply); at != nil && Visible(reply[at[1]:]) {
		return strings.TrimSpace(reply[at[1]:])
	}
	return reply
}

// messageLine is a line as those above which messages stand in the prompt: when, and who.
var messageLine = regexp.MustCompile(`(?m)^[ \t]*\\?(\*\*` + timePattern + `\*\*)( [^\n]*:)[ \t]*$`)

// CutInventedMessages is a reply without the messages that a model goes on to write behind it in the
// names of those who speak in the prompt, after its pattern. A line that stands there is one
// that it quotes. Where nothing could be seen before them, the reply stays as it is.
func CutInventedMessages(reply, shown string) string {
	for _, at := range messageLine.FindAllStringSubmatchIndex(reply, -1) {
		when, who := reply[at[2]:at[3]], reply[at[4]:at[5]]
		invented := strings.Contains(shown, "**"+who+"\n") && !strings.Contains(shown, when+who+"\n")
		if before := strings.TrimSpace(reply[:at[0]]); invented && Visible(before) {
			return before
		}
	}
	return reply
}
