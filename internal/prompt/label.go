package prompt

import (
	"cmp"
	"regexp"
	"strings"

	"myao/internal/chat"
)

// Unlabelled is a reply without the message line, or the name alone, that a model puts in
// front of it, after the pattern of what it was shown and against what it was told. Where
// nothing else could be seen of it, it stays as it is.
func Unlabelled(reply string, p chat.Persona) string {
	label := regexp.MustCompile(`^\\?(?:\*{0,2}\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\*{0,2}\s+)?\*{0,2}(?i:` +
		regexp.QuoteMeta(cmp.Or(cleanName(p.Name), defaultName)) + `)\*{0,2}(?::\*{0,2}\s|：\*{0,2})`)
	reply = strings.TrimSpace(reply)
	if at := label.FindStringIndex(reply); at != nil && Visible(reply[at[1]:]) {
		return strings.TrimSpace(reply[at[1]:])
	}
	return reply
}
