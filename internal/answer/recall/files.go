package recall

import (
	"context"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
)

// filesTimeout bounds how long an answer waits for Slack to tell which files a mention has.
const filesTimeout = 2 * time.Second

// CompleteFiles returns the files of a message. If the database knows none, and the message mentions the bot
// at the top level, Slack is asked: the event of a mention has no files, and the one that has them may
// come later. In a thread the reading of that brings them.
func (b *Builder) CompleteFiles(ctx context.Context, m chat.Message) []chat.File {
	if len(m.Files) > 0 || m.ThreadTS != "" || !chat.Mentions(m.Text, b.Own.UserID) {
		return m.Files
	}
	ctx, cancel := timeout.After(ctx, filesTimeout)
	defer cancel()
	page, err := b.Threads.Replies(ctx, m.Channel, m.TS, slack.Range{Latest: m.TS, Limit: 1}, b.Own)
	i := slices.IndexFunc(page.Messages, func(read chat.Message) bool { return read.TS == m.TS })
	if err == nil && (i < 0 || len(page.Messages[i].Files) == 0) {
		return nil
	}
	if err == nil {
		err = b.Store.SaveHistory(ctx, page.Messages[i:i+1])
	}
	if err != nil {
		b.Logger.WarnContext(ctx, "the files of a mention are not known", "channel", m.Channel, "message", m.TS,
			"error", err)
		return nil
	}
	return page.Messages[i].Files
}
