package chatops

import (
	"fmt"
	"strings"
	"time"

	"myao/internal/slack"
)

// quoted makes something that somebody typed fit to stand between back quotes.
func quoted(s string) string { return quotedUpTo(s, 40) }

// quotedUpTo is quoted with another limit, in characters.
func quotedUpTo(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r == '`' || r < ' ' {
			return -1
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return slack.Escape(s)
}

// slackTime formats a time so that Slack shows it in each reader's own time zone
// (docs.slack.dev/messaging/formatting-message-text#date-formatting).
func slackTime(t time.Time, zone *time.Location) string {
	return fmt.Sprintf("<!date^%d^{date_short_pretty} {time_secs}|%s>", t.Unix(), t.In(zone).
		Format("2006-01-02 15:04:05 MST"))
}
