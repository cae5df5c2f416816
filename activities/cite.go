package activities

import (
	"context"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/runtime/timeout"
)

const (
	// maxCitations bounds the links of a reply, and citeTimeout the calls of Slack for them: the answer
	// that waits is worth more.
	maxCitations = 10
	citeTimeout  = 5 * time.Second
)

// linkCitations turns the numbers in a reply into links to messages that its readers can open. A number
// whose link cannot be had is removed.
func (a *Activities) linkCitations(ctx context.Context, c chat.Conversation, text string,
	cited []tools.Reference) (string, error) {
	used := tools.Cited(text, cited)
	if len(used) == 0 {
		return text, nil
	}
	var channels []string
	for _, r := range used {
		channels = append(channels, r.Channel)
	}
	open, err := a.Store.Seen(ctx, c.Team, c.Channel, channels)
	if err != nil {
		return "", err
	}
	ask, cancel := timeout.After(ctx, citeTimeout)
	defer cancel()
	links := map[tools.Reference]string{}
	for _, r := range used[:min(len(used), maxCitations)] {
		if !open[r.Channel] {
			continue
		}
		if links[r], err = a.Slack.Permalink(ask, r.Channel, r.TS); err != nil {
			a.Logger.WarnContext(ctx, "no link to a message that a reply cites", "conversation", c.ID(), "channel",
				r.Channel, "ts", r.TS, "error", err)
		}
	}
	if linked := tools.Link(text, cited, func(r tools.Reference) string { return links[r] }); prompt.Visible(linked) {
		return linked, nil
	}
	return text, nil // it says nothing but what it cites, and that has no link
}
