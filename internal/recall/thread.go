package recall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
)

const (
	// threadPages bounds how far a thread is read: four thousand replies.
	threadPages = 20
	// threadFor is how long that may take; the answer waits for it.
	threadFor = 8 * time.Second
)

var errLongThread = errors.New("the thread has more pages than are read")

// readThread stores the newest replies of a thread and its parent as Slack has
// them, and returns how many earlier replies there are. Slack gives the oldest
// first (docs.slack.dev/reference/methods/conversations.replies), so all pages are
// read, and only the end is kept.
func (b *Builder) readThread(ctx context.Context, c chat.Conversation, own slack.Identity) (unread int, err error) {
	ctx, cancel := context.WithTimeout(ctx, threadFor)
	defer cancel()
	var parent, newest []chat.Message
	seen := map[string]bool{} // the parent may come again on each page
	var r slack.Range
	for range threadPages {
		page, err := b.Threads.Replies(ctx, c.Channel, c.Thread, r, own)
		if err != nil {
			return 0, fmt.Errorf("read thread %s: %w", c.Thread, err)
		}
		for _, m := range page.Messages {
			switch {
			case seen[m.TS]:
			case m.TS == c.Thread:
				parent = []chat.Message{m}
			default:
				newest = append(newest, m)
			}
			seen[m.TS] = true
		}
		if page.Next == "" {
			slices.SortFunc(newest, func(a, b chat.Message) int { return a.Time().Compare(b.Time()) })
			unread = max(0, len(newest)-b.ThreadLimit)
			return unread, b.Store.Remember(ctx, append(parent, newest[unread:]...))
		}
		r.Cursor = page.Next
	}
	return 0, fmt.Errorf("read thread %s: %w", c.Thread, errLongThread)
}
