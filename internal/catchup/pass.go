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

// pass is one reading of one channel. Of what it reads it keeps ids alone, but for
// edits that were missed. One that broke off can be run again, and goes on.
type pass struct {
	*Reader
	own     slack.Identity
	channel store.Channel
	began   time.Time
	now     time.Time
	// replyableSince is when a message must have been sent to be answered.
	replyableSince time.Time
	// threadsFrom is where the reading of replies begins.
	threadsFrom time.Time
	// threadsDue is set when all active threads are to be read.
	threadsDue bool
	// stale is set when the pass began so long ago that what it was shown may be gone by
	// now. Then it reads on, but takes nothing that may be answered, and its marks move no
	// further than since: another pass lists all of that again.
	stale bool

	// recent is the top level since the mark, older what lies before it.
	recent, older span
	// listed is the ts of what Slack has shown. Only that is taken: what was seen
	// before, and is shown no more, has been deleted since.
	listed map[string]bool
	// parents is the parents that Slack has shown, with the ts of their newest reply as in slack.Page.
	parents map[string]string
	// edits is messages that stand otherwise in Slack than what their events have said.
	edits []chat.Message
	// newest is when the newest message of recent was sent.
	newest time.Time
	// asOf is the newest that was told by the first page to tell anything: what is read
	// later misses nothing that was there by then.
	asOf time.Time
	// read is the threads that have been read to their end, reached how far others were.
	read     map[string]bool
	readUpTo map[string]time.Time
	result   Result
}

// startPass is what there is to be read of a channel, and whether it was begun before.
func (r *Reader) startPass(ctx context.Context, channel string, threads bool) (p *pass, resumed bool, err error) {
	own, err := r.Slack.Identity(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("learn who the bot is: %w", err)
	}
	known, err := r.Store.Channels(ctx, own.TeamID, []string{channel})
	if err != nil {
		return nil, false, err
	}
	c := known[channel]
	if c.KnownSince.IsZero() {
		return nil, false, fmt.Errorf("channel %s was never listed: %w", channel, store.ErrNotFound)
	}
	now := r.Clock()
	if p = r.takeUnfinished(channel); p == nil {
		p = r.newPass(own, c, now)
	} else {
		resumed = true
	}
	p.now, p.result = now, Result{}
	p.replyableSince = later(now.Add(-r.Directory.Settings(ctx, own.TeamID, channel).MaxMessageAge), c.KnownSince)
	p.stale = now.Sub(p.began) > listingLifetime
	p.threadsDue = p.threadsDue || threads || now.Sub(c.ThreadsRead) >= threadInterval
	return p, resumed, nil
}

func (r *Reader) newPass(own slack.Identity, c store.Channel, now time.Time) *pass {
	from := now.Add(-r.FirstWindow)
	if c.CaughtUpTo != "" {
		from = chat.Time(c.CaughtUpTo).Add(-overlap)
	}
	threadsFrom := earlier(from, now.Add(-r.FirstWindow))
	if c.ThreadsCaughtUpTo != "" {
		threadsFrom = chat.Time(c.ThreadsCaughtUpTo).Add(-overlap)
	}
	return &pass{
		Reader: r, own: own, channel: c, began: now, threadsFrom: threadsFrom,
		recent: span{from: from, to: now.Add(clockSkew)},
		older:  span{from: now.Add(-r.ThreadWindow), to: from},
		listed: map[string]bool{}, parents: map[string]string{}, read: map[string]bool{}, readUpTo: map[string]time.Time{},
	}
}

// run reads the channel, takes what it finds when it has read it all, and moves the
// marks. Where threads cannot be read, what was read is taken all the same: the gap
// is in those threads alone. But their mark stays, and that of the top level with it
// unless its own threads have been read, since the next pass finds them by their parents.
func (p *pass) run(ctx context.Context) error {
	err := p.readHistory(ctx, &p.recent, maxRecentPages)
	if errors.Is(err, errMore) {
		p.Logger.WarnContext(ctx, "long history; nothing is taken before the next call has read on", "channel", p.channel.ID, "read", len(p.listed), "back_to", p.recent.to)
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
	if err := p.Store.AdvanceCatchUp(ctx, p.own.TeamID, p.channel.ID, p.mark(p.newest, p.recent.from), "", time.Time{}); err != nil {
		return err
	}
	if farErr != nil || !p.threadsDue {
		return p.unfinished(farErr)
	}
	read := p.began
	if p.stale {
		read = time.Time{} // they are yet to be read as they are now
	}
	return p.Store.AdvanceCatchUp(ctx, p.own.TeamID, p.channel.ID, "", p.mark(p.asOf, p.threadsFrom), read)
}

// progress grows with each message and each thread that is read.
func (p *pass) progress() int { return len(p.listed) + len(p.read) }

// stuck reports whether a run that has got no further would not the next time either: a
// thread cannot be read, and that is neither for Slack's limit nor for want of time. What
// began just now is given some more tries.
func (p *pass) stuck(ctx context.Context, err error) bool {
	var refused *slack.Error
	limited := errors.As(err, &refused) && refused.Kind == slack.RateLimited
	return err != nil && p.recent.done && !limited && ctx.Err() == nil && p.now.Sub(p.began) >= stuckAfter
}

// mark is the ts that a mark moves to, of a span that was read from an instant up to the
// newest message in it.
func (p *pass) mark(newest, from time.Time) string {
	to := later(newest, from)
	if p.stale {
		to = earlier(to, p.replyableSince)
	}
	return chat.TS(to)
}

// unfinished is nil for errLong, which leaves the pass unfinished and is no failure.
func (p *pass) unfinished(err error) error {
	if errors.Is(err, errMore) {
		p.result.Unfinished = true
		return nil
	}
	return err
}

// savePage stores a page, and notes what it tells.
func (p *pass) savePage(ctx context.Context, page slack.Page) error {
	var fresh []chat.Message
	var ts []string
	var told time.Time
	for _, m := range page.Messages {
		told = later(told, m.Time())
		if !p.listed[m.TS] { // parents come again and again
			fresh, ts = append(fresh, m), append(ts, m.TS)
		}
	}
	kept, err := p.Store.MessagesByTS(ctx, p.own.TeamID, p.channel.ID, ts)
	if err != nil {
		return err
	}
	known := make(map[string]store.StoredMessage, len(kept))
	for _, k := range kept {
		known[k.TS] = k
	}
	if err := p.Store.SaveHistory(ctx, fresh); err != nil {
		return err
	}
	for _, m := range fresh {
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
		told = later(told, chat.Time(newest))
	}
	if p.asOf.IsZero() {
		p.asOf = told
	}
	return nil
}

// missedEdit reports whether a message that was heard has been edited since.
func missedEdit(heard, stands chat.Message) bool {
	return !heard.Deleted && heard.Text != stands.Text && chat.Time(stands.Revision).After(chat.Time(heard.Revision))
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
