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
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
)

const (
	// maxThreadPages bounds how far a thread is read from its beginning. If it is longer, findEnd
	// looks for its end maxEndTries times, pagesPerTry pages each. Each try moves ahead by
	// endStride times the time span of the pages before.
	maxThreadPages = 20
	maxEndTries    = 8
	pagesPerTry    = 3
	endStride      = 8
	// threadTimeout bounds all of that, because the answer waits. Half of it is reserved for the
	// end of the thread, which matters most.
	threadTimeout = 8 * time.Second
	// maxPageTries bounds the requests for one page. pagePause is between them if Slack does not
	// name a time.
	maxPageTries = 3
	pagePause    = 500 * time.Millisecond
)

var errLongThread = errors.New("its end was not found")

// threadReader reads a thread from Slack.
type threadReader struct {
	*Builder
	conversation chat.Conversation
	parent       []chat.Message
	replies      map[string]chat.Message // by ts
	// latest is the ts of the newest reply according to the parent, or empty.
	latest string
	// skipped is set if replies may be missing between those that were read.
	skipped bool
}

// readThread reads a thread's parent and newest replies from Slack and saves them. After a failure it
// saves and returns what it has read before.
func (b *Builder) readThread(ctx context.Context, c chat.Conversation) (*threadReader, error) {
	r := &threadReader{Builder: b, conversation: c, replies: map[string]chat.Message{}}
	err := r.read(ctx)
	replies := slices.SortedFunc(maps.Values(r.replies), func(a, b chat.Message) int {
		return a.Time().
			Compare(b.Time())
	})
	newest := replies[max(0, len(replies)-b.ThreadLimit):]
	if err = errors.Join(err, b.Store.SaveHistory(ctx, append(r.parent, newest...))); err != nil {
		return r, fmt.Errorf("read thread %s: %w", c.Thread, err)
	}
	return r, nil
}

// omitted counts the replies that were read and are not among the shown ones.
func (r *threadReader) omitted(shown []chat.Message) int {
	n := len(r.replies)
	for _, m := range shown {
		if _, ok := r.replies[m.TS]; ok {
			n--
		}
	}
	return n
}

// read reads the thread from its beginning, because Slack returns the oldest replies first
// (docs.slack.dev/reference/methods/conversations.replies). It stops once more replies are
// left out than are counted, and then looks for the end.
func (r *threadReader) read(ctx context.Context) error {
	ctx, cancel := timeout.After(ctx, threadTimeout)
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

// findEnd reads the last hour before the newest reply. If that has too many replies, it starts
// later, by a multiple of the time span just read. If it has too few, it bisects between the
// nearest start with too many and the farthest with too few.
func (r *threadReader) findEnd(ctx context.Context, seen span) error {
	newest, err := r.newest(ctx)
	if err != nil {
		return err
	}
	var few time.Duration // this long before the newest, there are too few
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

// newest is the best known time of the newest reply.
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

// countSince counts the replies at or after a time.
func (r *threadReader) countSince(from time.Time) (n int) {
	for _, m := range r.replies {
		if !m.Time().Before(from) {
			n++
		}
	}
	return n
}

// span is the time from the first to the last of some replies.
type span struct{ from, to time.Time }

// walk reads pages from a time on, until there are enough replies, at most pages. whole is set if
// it reached the end.
func (r *threadReader) walk(
	ctx context.Context, from time.Time, pages int, enough func() bool,
) (seen span, whole bool, err error) {
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
			if m.TS == r.conversation.Thread { // the parent may be on every page
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

// page reads a page. It tries again after a transient failure if there is time for the pause that
// Slack wants.
func (r *threadReader) page(ctx context.Context, at slack.Range) (slack.Page, error) {
	for try := 1; ; try++ {
		page, err := r.Threads.Replies(ctx, r.conversation.Channel, r.conversation.Thread, at, r.Own)
		var refused *slack.Error
		if err == nil || try == maxPageTries || !errors.As(err, &refused) || !refused.Retryable() ||
			!refused.Wait(ctx, pagePause) {
			return page, err
		}
	}
}
