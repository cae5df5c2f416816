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

// threadPages bounds how much one call reads of a thread: ten thousand replies.
const threadPages = 50

// near reads the threads that have something unheard, as far as the newest history and
// the database tell: those with a parent that was shown and a reply since the mark; and
// those of replies that are unhandled, such as were also sent to the channel, or were
// read when the bot was called into the thread.
func (p *pass) near(ctx context.Context) error {
	unread := p.unread()
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
	return p.threads(ctx, unread)
}

// far reads the other threads that were active lately. One whose parent nobody had
// replied to before is found by its parent, so history is paged back that far; one with
// an older parent by its replies in the database.
func (p *pass) far(ctx context.Context) error {
	switch err := p.history(ctx, &p.older, olderPages); {
	case errors.Is(err, errLong):
		p.Logger.WarnContext(ctx, "long history; of older threads only those are read that are known", "channel", p.channel.ID, "parents_before", p.older.to)
		p.older.done = true
	case err != nil:
		return err
	}
	known, err := p.Store.ActiveThreads(ctx, p.own.TeamID, p.channel.ID, p.now.Add(-p.ActiveThreads))
	if err != nil {
		return err
	}
	unread := p.unread()
	for _, parent := range known {
		// A parent that was shown, and not told to have replies, has none any more.
		if _, told := p.told[parent]; !told && !p.listed[parent] {
			unread[parent] = p.threadsFrom
		}
	}
	return p.threads(ctx, unread)
}

// unread is the threads whose parents were shown and that may have a reply since the
// mark, with the instant from which on to read them.
func (p *pass) unread() map[string]time.Time {
	unread := map[string]time.Time{}
	for parent, newest := range p.told {
		if newest == "" || !chat.Time(newest).Before(p.threadsFrom) {
			unread[parent] = p.threadsFrom
		}
	}
	return unread
}

// threads reads those threads that have not been read, in order of their parents.
func (p *pass) threads(ctx context.Context, unread map[string]time.Time) error {
	var long error
	for _, thread := range slices.Sorted(maps.Keys(unread)) {
		if p.read[thread] {
			continue
		}
		switch err := p.thread(ctx, thread, unread[thread]); {
		case errors.Is(err, errLong):
			p.Logger.WarnContext(ctx, "long thread; the next call reads on", "channel", p.channel.ID, "thread", thread, "up_to", p.reached[thread])
			long = err
		case err != nil:
			return fmt.Errorf("read thread %s: %w", thread, err)
		default:
			p.read[thread] = true
		}
	}
	return long
}

// thread reads a thread's replies since an instant, or since where a call before this one
// ended. Slack gives the oldest first, so that a part of them has no gap. A thread that
// is gone has none.
func (p *pass) thread(ctx context.Context, thread string, from time.Time) error {
	r := slack.Range{Oldest: chat.TS(later(from, p.reached[thread]))}
	var c cursor
	for range threadPages {
		r.Cursor = c.at
		page, err := p.Slack.Replies(ctx, p.channel.ID, thread, r, p.own)
		if gone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := p.keep(ctx, page); err != nil {
			return err
		}
		for _, m := range page.Messages {
			p.reached[thread] = later(p.reached[thread], m.Time())
		}
		if more, err := c.next(page.Next); err != nil || !more {
			return err
		}
	}
	return errLong
}

func gone(err error) bool {
	e, ok := errors.AsType[*slack.Error](err)
	return ok && e.Code == "thread_not_found"
}
