package ledger

import (
	"fmt"
	"strings"
	"time"

	"myao/internal/conversation"
)

// Brief is the newest n decisions of the story in Slack's mrkdwn, one line each, the
// newest last, without what anybody said; "" where there is none. Slack shows the times in
// the reader's zone, or where it cannot in the one that is given.
func (s Story) Brief(n int, zone *time.Location) string {
	var lines []string
	for i := len(s.Entries) - 1; i >= 0 && len(lines) < n; i-- {
		if d := s.Entries[i].Decision; d != nil {
			lines = append([]string{brief(s.Entries[i], zone)}, lines...)
		}
	}
	return strings.Join(lines, "\n")
}

// ends is each outcome in words.
var ends = map[conversation.Outcome]string{
	conversation.Pending: "means to answer", conversation.Silent: "stayed silent", conversation.Sent: "answered", conversation.Withdrawn: "withdrew its answer",
	conversation.Dropped: "was told to drop its answer", conversation.Overruled: "was told to answer at once", conversation.Unsent: "could not answer",
}

func brief(e Entry, zone *time.Location) string {
	d := e.Decision
	end := ends[d.Outcome]
	if end == "" {
		end = mrkdwn(string(d.Outcome))
	}
	if e.Thread != "" {
		end += " in a thread"
	}
	reason := mrkdwn(d.Reason)
	if reason == "" {
		reason = "no reason is known"
	}
	by := d.Source
	if d.Rule != "" {
		by = "rule " + d.Rule
	}
	if d.Confidence != nil {
		by += fmt.Sprintf(", confidence %.2f", *d.Confidence)
	}
	at := fmt.Sprintf("<!date^%d^{date_short_pretty} {time}|%s>", e.At.Unix(), e.At.In(zone).Format("2006-01-02 15:04"))
	return fmt.Sprintf("• %s %s: %s (%s)", at, end, reason, mrkdwn(by))
}

// mrkdwn is a text as it stands in Slack's markup: it can neither mention nor link
// (docs.slack.dev/messaging/formatting-message-text). Of @here and the like that holds, too:
// without brackets they are words.
func mrkdwn(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(Plain(s))
}
