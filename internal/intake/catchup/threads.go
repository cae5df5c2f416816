package catchup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
)

// maxThreadPages bounds how much of a thread one call reads: 10,000 replies.
const maxThreadPages = 50

// readRecentThreads reads the threads in which the newest history or the database shows something unread.
// These are threads with a listed parent and a reply since the mark, and threads of unhandled
// replies. Such replies were also sent to the channel, or were read when the bot was called into the
// thread.
func (p *pass) readRecentThreads(ctx context.Context) error {
	unread := p.unreadThreads()
	err := p.unhandled(ctx, func(m chat.Message) error {
		if m.ThreadTS == "" {
			return nil
		}
		from, ok := unread[m.ThreadTS]
		if !ok {
			from = p.threadsFrom
		}
		unread[m.ThreadTS] = earlier(from, m.Time())
		return nil
	})
	if err != nil {
		return err
	}
	return p.readThreads(ctx, unread)
}

// readOlderThreads reads the other threads that were active recently. A thread without known replies is
// found by its parent, so history is read back as far as ThreadWindow. A thread with an older parent
// is found by its replies in the database.
func (p *pass) readOlderThreads(ctx context.Context) error {
	switch err := p.readHistory(ctx, &p.older, maxOlderPages); {
	case errors.Is(err, errMore):
		p.Logger.WarnContext(ctx, "long history; only the known ones of the older threads are read", "channel",
			p.channel.ID, "parents_before", p.older.to)
		p.older.done = true
	case err != nil:
		return err
	}
	known, err := p.Store.ActiveThreads(ctx, p.Own.TeamID, p.channel.ID, p.now.Add(-p.ThreadWindow))
	if err != nil {
		return err
	}
	unread := p.unreadThreads()
	for _, parent := range known {
		// A parent that Slack listed without replies has none any more.
		if _, hasReplies := p.parents[parent]; !hasReplies && !p.listed[parent] {
			unread[parent] = p.threadsFrom
		}
	}
	return p.readThreads(ctx, unread)
}

// unreadThreads returns the threads with a listed parent that may have a reply since the mark, and the
// time from which to read them.
func (p *pass) unreadThreads() map[string]time.Time {
	unread := map[string]time.Time{}
	for parent, newest := range p.parents {
		if newest == "" || !chat.Time(newest).Before(p.threadsFrom) {
			unread[parent] = p.threadsFrom
		}
	}
	return unread
}

// readThreads reads the threads that have not been read, in the order of their parents.
func (p *pass) readThreads(ctx context.Context, unread map[string]time.Time) error {
	var long error
	for _, thread := range slices.Sorted(maps.Keys(unread)) {
		if p.read[thread] {
			continue
		}
		switch err := p.readThread(ctx, thread, unread[thread]); {
		case errors.Is(err, errMore):
			p.Logger.WarnContext(ctx, "long thread; the next call reads on", "channel", p.channel.ID, "thread", thread,
				"up_to", p.readUpTo[thread])
			long = err
		case err != nil:
			return fmt.Errorf("read thread %s: %w", thread, err)
		default:
			p.read[thread] = true
		}
	}
	return long
}

// readThread reads a thread's replies since an instant, or since the end of the previous call. Slack
// returns the oldest first, so that a part of them has no gap. A deleted thread has none.
func (p *pass) readThread(ctx context.Context, thread string, from time.Time) error {
	r := slack.Range{Oldest: chat.TS(later(from, p.readUpTo[thread]))}
	var c cursor
	for range maxThreadPages {
		r.Cursor = c.at
		page, err := p.Slack.Replies(ctx, p.channel.ID, thread, r, p.Own)
		if isThreadGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := p.savePage(ctx, page); err != nil {
			return err
		}
		for _, m := range page.Messages {
			p.readUpTo[thread] = later(p.readUpTo[thread], m.Time())
		}
		if more, err := c.next(page.Next); err != nil || !more {
			return err
		}
	}
	return errMore
}

func isThreadGone(err error) bool {
	e, ok := errors.AsType[*slack.Error](err)
	return ok && e.Code == "thread_not_found"
}
