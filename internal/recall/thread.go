package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
)

const (
	// maxThreadPages bounds how far a thread is read from its beginning. Where it is longer,
	// its end is looked for endTries times, endPages at each; endStride is how many times
	// the time that the last such pages spoke of is passed over.
	maxThreadPages = 20
	maxEndTries    = 8
	pagesPerTry    = 3
	endStride      = 8
	// threadTimeout is how long all that may take: the answer waits for it. Half of it is
	// left for the end, which matters most.
	threadTimeout = 8 * time.Second
	// maxPageTries is how often a page is asked for, pagePause what lies between where
	// Slack does not say.
	maxPageTries = 3
	pagePause    = 500 * time.Millisecond
)

var errLongThread = errors.New("its end was not found")

// threadReader is what Slack says of a thread.
type threadReader struct {
	*Builder
	conversation chat.Conversation
	own          slack.Identity
	parent       []chat.Message
	replies      map[string]chat.Message // by ts
	// latest is the ts of the newest reply as the parent tells it; empty where it does not.
	latest string
	// skipped is set where there are replies between those that were read.
	skipped bool
}

// readThread stores the newest replies of a thread and its parent as Slack has them.
// What was read before something failed is stored, too, and is in the result.
func (b *Builder) readThread(ctx context.Context, c chat.Conversation, own slack.Identity) (*threadReader, error) {
	r := &threadReader{Builder: b, conversation: c, own: own, replies: map[string]chat.Message{}}
	err := r.read(ctx)
	replies := slices.SortedFunc(maps.Values(r.replies), func(a, b chat.Message) int { return a.Time().Compare(b.Time()) })
	newest := replies[max(0, len(replies)-b.ThreadLimit):]
	if err = errors.Join(err, b.Store.SaveHistory(ctx, append(r.parent, newest...))); err != nil {
		return r, fmt.Errorf("read thread %s: %w", c.Thread, err)
	}
	return r, nil
}

// omitted is how many replies were read and are not shown, given those that are.
func (r *threadReader) omitted(shown []chat.Message) int {
	n := len(r.replies)
	for _, m := range shown {
		if _, ok := r.replies[m.TS]; ok {
			n--
		}
	}
	return n
}

// read goes through the thread from its beginning, since Slack gives the oldest first
// (docs.slack.dev/reference/methods/conversations.replies), as far as replies that are
// left out are counted; and if that is not its end, looks for the end.
func (r *threadReader) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, threadTimeout)
	defer cancel()
	began := r.Clock()
	seen, whole, err := r.walk(ctx, chat.Time(r.conversation.Thread), maxThreadPages, func() bool {
		return len(r.replies) >= chat.CountAtMost+r.ThreadLimit || r.Clock().Sub(began) >= threadTimeout/2
	})
	if whole || err != nil {
		return err
	}
	r.skipped = true
	return r.findEnd(ctx, seen)
}

// findEnd reads the last hour before the newest reply. Where that holds too few replies
// or too many, it goes on from what has been seen last, a bit further than that reached
// in time; and where that is too far, to the middle between what is too far and too near.
func (r *threadReader) findEnd(ctx context.Context, seen span) error {
	newest, err := r.newest(ctx)
	if err != nil {
		return err
	}
	var few time.Duration // so long before the newest there are too few
	many := newest.Sub(seen.to)
	back := min(time.Hour, many/2)
	for range maxEndTries {
		from := newest.Add(-back)
		read, whole, err := r.walk(ctx, from, pagesPerTry, func() bool { return false })
		switch {
		case err != nil:
			return err
		case !whole:
			seen, many = read, newest.Sub(read.to)
		case r.countSince(from) < r.ThreadLimit:
			few = back
		default:
			return nil
		}
		if back = many - endStride*seen.to.Sub(seen.from); back <= few || back >= many {
			back = few + (many-few)/2
		}
	}
	return errLongThread
}

// newest is when the newest reply was said, as far as that is known.
func (r *threadReader) newest(ctx context.Context) (time.Time, error) {
	if r.latest != "" {
		return chat.Time(r.latest), nil
	}
	known, err := r.Store.Tail(ctx, r.conversation, 1)
	if err != nil {
		return time.Time{}, err
	}
	for _, m := range known {
		if m.ThreadTS == r.conversation.Thread {
			return m.Time(), nil
		}
	}
	return r.Clock(), nil
}

// countSince is how many of the replies were said at or after a time.
func (r *threadReader) countSince(from time.Time) (n int) {
	for _, m := range r.replies {
		if !m.Time().Before(from) {
			n++
		}
	}
	return n
}

// span is from the first to the last of some replies.
type span struct{ from, to time.Time }

// walk reads from a time on, at most so many pages and until enough is read. whole is
// set if it came to the end.
func (r *threadReader) walk(ctx context.Context, from time.Time, pages int, enough func() bool) (seen span, whole bool, err error) {
	var next slack.Range
	if from.After(chat.Time(r.conversation.Thread)) {
		next.Oldest = chat.TS(from)
	}
	seen = span{from, from}
	for range pages {
		page, err := r.page(ctx, next)
		if err != nil {
			return seen, false, err
		}
		for _, m := range page.Messages {
			if m.TS == r.conversation.Thread { // it may come on each page
				r.parent = []chat.Message{m}
				continue
			}
			r.replies[m.TS] = m
			if seen.to = m.Time(); seen.from.Equal(from) {
				seen.from = seen.to
			}
		}
		r.latest = cmp.Or(page.Threads[r.conversation.Thread], r.latest)
		if next.Cursor = page.Next; next.Cursor == "" {
			return seen, true, nil
		}
		if enough() {
			break
		}
	}
	return seen, false, nil
}

// page asks for a page, and again where that may help and there is time to wait as
// long as Slack wants.
func (r *threadReader) page(ctx context.Context, at slack.Range) (slack.Page, error) {
	for try := 1; ; try++ {
		page, err := r.Threads.Replies(ctx, r.conversation.Channel, r.conversation.Thread, at, r.own)
		var refused *slack.Error
		if err == nil || try == maxPageTries || !errors.As(err, &refused) || !refused.Retryable() ||
			!refused.Wait(ctx, pagePause) {
			return page, err
		}
	}
}
