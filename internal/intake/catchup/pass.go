package catchup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
)

// pass reads one channel once. It keeps only the ids of what it reads, and the edits that were missed.
// An interrupted pass can run again, and continues.
type pass struct {
	*Reader
	channel store.Channel
	// gap is the newest gap when the pass began.
	gap   int64
	began time.Time
	now   time.Time
	// replyableSince is how old a message may be to be answered.
	replyableSince time.Time
	// threadsFrom is how far back replies are read.
	threadsFrom time.Time
	// threadsDue is set if all active threads are to be read.
	threadsDue bool
	// stale is set if the pass began so long ago that what it listed may be deleted by now. A stale
	// pass reads on, but records nothing that may be answered, and moves its marks at most to
	// replyableSince, so that another pass lists the rest again.
	stale bool

	// recent is the top level since the mark, older the part before it.
	recent, older span
	// listed holds the ts of the messages that Slack has shown. Only these are recorded: a stored
	// message that Slack no longer shows was deleted.
	listed map[string]bool
	// parents maps each parent that Slack has shown to the ts of its newest reply, as in slack.Page.
	parents map[string]string
	// edits are messages whose text in Slack is newer than that of their events.
	edits []chat.Message
	// newest is the time of the newest message in recent.
	newest time.Time
	// asOf is the newest time in the first page that has any. What is read later includes everything
	// that was there by then.
	asOf time.Time
	// read holds the threads that have been read completely, readUpTo how far the others have been
	// read.
	read     map[string]bool
	readUpTo map[string]time.Time
	result   Result
}

// startPass returns the pass to run for a channel, the newest gap, and whether the pass was interrupted before.
func (r *Reader) startPass(
	ctx context.Context, channel string, threads bool,
) (p *pass, gap int64, resumed bool, err error) {
	known, err := r.Store.Channels(ctx, r.Own.TeamID, []string{channel})
	if err != nil {
		return nil, 0, false, err
	}
	c := known[channel]
	if c.KnownSince.IsZero() {
		return nil, 0, false, fmt.Errorf("channel %s was never listed: %w", channel, store.ErrNotFound)
	}
	gap, err = r.Store.NewestGap(ctx)
	if err != nil {
		return nil, 0, false, err
	}
	now := r.Clock()
	if p = r.takeUnfinished(channel); p == nil {
		p = r.newPass(c, now)
		p.gap = gap
	} else {
		resumed = true
	}
	p.now, p.result = now, Result{}
	p.replyableSince = later(now.Add(-r.Directory.Settings(ctx, r.Own.TeamID, channel).MaxMessageAge), c.KnownSince)
	p.stale = now.Sub(p.began) > listingLifetime
	p.threadsDue = p.threadsDue || threads
	return p, gap, resumed, nil
}

func (r *Reader) newPass(c store.Channel, now time.Time) *pass {
	from := now.Add(-r.FirstWindow)
	if c.CaughtUpTo != "" {
		from = chat.Time(c.CaughtUpTo).Add(-overlap)
	}
	threadsFrom := earlier(from, now.Add(-r.FirstWindow))
	if c.ThreadsCaughtUpTo != "" {
		threadsFrom = chat.Time(c.ThreadsCaughtUpTo).Add(-overlap)
	}
	return &pass{
		Reader: r, channel: c, began: now, threadsFrom: threadsFrom,
		recent: span{from: from, to: now.Add(clockSkew)},
		older:  span{from: now.Add(-r.ThreadWindow), to: from},
		listed: map[string]bool{}, parents: map[string]string{}, read: map[string]bool{},
		readUpTo: map[string]time.Time{},
	}
}

// run reads the channel completely, records what it finds, and then moves the marks. If some threads
// cannot be read, it still records the rest, because only these threads have a gap. But it does not
// move the threads' mark. The mark of the top level stays, too, unless the threads since it have been
// read, since the next pass finds them by their parents.
func (p *pass) run(ctx context.Context) error {
	err := p.readHistory(ctx, &p.recent, maxRecentPages)
	if errors.Is(err, errMore) {
		p.Logger.WarnContext(ctx, "long history; nothing is recorded before the next call has read on", "channel",
			p.channel.ID, "read", len(p.listed), "back_to", p.recent.to)
		p.result.Unfinished = true
		return nil
	}
	if err != nil {
		return err
	}
	nearErr := p.readRecentThreads(ctx)
	var farErr error
	if p.threadsDue && nearErr == nil {
		farErr = p.readOlderThreads(ctx)
	}
	if err := p.record(ctx); err != nil {
		return err
	}
	if nearErr != nil {
		return p.unfinished(nearErr)
	}
	if err := p.Store.AdvanceCatchUp(ctx, p.Own.TeamID, p.channel.ID, p.mark(p.newest, p.recent.from), "",
		time.Time{}); err != nil {
		return err
	}
	if farErr != nil || !p.threadsDue {
		return p.unfinished(farErr)
	}
	read := p.began
	if p.stale {
		read = time.Time{} // the threads must be read again
	}
	if err := p.Store.AdvanceCatchUp(ctx, p.Own.TeamID, p.channel.ID, "", p.mark(p.asOf, p.threadsFrom),
		read); err != nil || p.stale {
		return err
	}
	return p.Store.MarkRead(ctx, p.Own.TeamID, p.channel.ID, p.gap)
}

// progress grows with each message and each thread that is read.
func (p *pass) progress() int { return len(p.listed) + len(p.read) }

// stuck reports whether another run would not progress either: a thread cannot be read, and neither
// Slack's rate limit nor a lack of time is the reason. A pass that began recently is not stuck yet.
func (p *pass) stuck(ctx context.Context, err error) bool {
	var refused *slack.Error
	limited := errors.As(err, &refused) && refused.Kind == slack.RateLimited
	return err != nil && p.recent.done && !limited && ctx.Err() == nil && p.now.Sub(p.began) >= stuckAfter
}

// mark returns the ts to which a mark moves after a span from from to the message newest was read.
func (p *pass) mark(newest, from time.Time) string {
	to := later(newest, from)
	if p.stale {
		to = earlier(to, p.replyableSince)
	}
	return chat.TS(to)
}

// unfinished turns errMore, which is no failure, into nil, and notes that the pass is unfinished.
func (p *pass) unfinished(err error) error {
	if errors.Is(err, errMore) {
		p.result.Unfinished = true
		return nil
	}
	return err
}

// savePage saves a page, and notes what it shows.
func (p *pass) savePage(ctx context.Context, page slack.Page) error {
	var unlisted []chat.Message
	var ts []string
	var latest time.Time
	for _, m := range page.Messages {
		latest = later(latest, m.Time())
		if !p.listed[m.TS] { // parents occur on several pages
			unlisted, ts = append(unlisted, m), append(ts, m.TS)
		}
	}
	kept, err := p.Store.MessagesByTS(ctx, p.Own.TeamID, p.channel.ID, ts)
	if err != nil {
		return err
	}
	known := make(map[string]store.StoredMessage, len(kept))
	for _, k := range kept {
		known[k.TS] = k
	}
	if err := p.Store.SaveHistory(ctx, unlisted); err != nil {
		return err
	}
	for _, m := range unlisted {
		p.listed[m.TS] = true
		p.result.Read++
		k, ok := known[m.TS]
		switch {
		case !ok:
			p.result.New++
		case k.Handled && missedEdit(k.Message, m):
			p.edits = append(p.edits, m)
		}
	}
	maps.Copy(p.parents, page.Threads)
	for _, newest := range page.Threads {
		latest = later(latest, chat.Time(newest))
	}
	if p.asOf.IsZero() {
		p.asOf = latest
	}
	return nil
}

// missedEdit reports whether a message was edited after its last event.
func missedEdit(stored, current chat.Message) bool {
	return !stored.Deleted && stored.Text != current.Text && chat.Time(current.Revision).
		After(chat.Time(stored.Revision))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
