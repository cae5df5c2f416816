package catchup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"myao/internal/channels"
	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
)

// Slack is who tells what was said, and where. Errors are *slack.Error.
type Slack interface {
	Identity(ctx context.Context) (slack.Identity, error)
	Conversations(ctx context.Context, cursor string) (slack.ChannelPage, error)
	History(ctx context.Context, channel string, r slack.Range, own slack.Identity) (slack.Page, error)
	Replies(ctx context.Context, channel, thread string, r slack.Range, own slack.Identity) (slack.Page, error)
}

// Recorder commits events.
type Recorder interface {
	Record(ctx context.Context, e slack.MessageEvent, own slack.Identity) ([]store.Target, error)
}

// Directory knows channels.
type Directory interface {
	Settings(ctx context.Context, team, channel string) config.ChannelSettings
	// RefreshUnwatched saves what Slack says of a channel that the bot is not in.
	RefreshUnwatched(ctx context.Context, team, channel string, within time.Duration) error
}

// Reader reads what the door did not hear. All exported fields are required. It is safe
// for concurrent use, and several may read the same channel.
type Reader struct {
	Store     *store.Store
	Slack     Slack
	Recorder  Recorder
	Directory Directory
	// FirstWindow is how far back a channel is read that never was.
	FirstWindow time.Duration
	// ThreadWindow is how far back a thread must have spoken to be read.
	ThreadWindow time.Duration
	Clock        func() time.Time
	Logger       *slog.Logger

	noGroups sync.Once // warned that group direct messages are not listed

	mu sync.Mutex
	// unfinished is the passes, by channel, that broke off lately. They are not worth a
	// table: a process that does not know them begins anew.
	unfinished map[string]*pass
}

// Result counts what a pass came upon.
type Result struct {
	// Read is messages that Slack listed; New those that were not known.
	Read, New int
	// Taken is messages of which a change was made now.
	Taken int
	// Unfinished is set when there is more than is read at once: the next call goes on
	// where this one ended.
	Unfinished bool
}

const (
	// overlap is read again: Slack shows some messages a little late.
	overlap = 2 * time.Minute
	// listingLifetime is how long what a pass has listed is believed: as long as it takes, in rounds of
	// as much as one call may read, to look at the threads of nearly every channel.
	listingLifetime = time.Hour
	// stuckAfter is how long a pass may get no further before another begins: one a round, and
	// not one for each of the tries in it.
	stuckAfter = 5 * time.Minute
	// unfinishedLifetime is how long a pass is kept that nobody goes on with: rounds come more often,
	// but for a channel that was left.
	unfinishedLifetime = 6 * time.Hour
	// threadInterval is how often threads of which the newest history tells nothing are looked at.
	threadInterval = time.Hour
	// maxListPages bounds a listing: a hundred thousand channels, should Slack give 200 of them a
	// page. limitPause is left where it does not say how long it refuses more.
	maxListPages   = 500
	rateLimitPause = time.Second
	// recheckInterval is how often Slack is asked about a public channel that the bot is not in,
	// lookAtMost about how many after one listing, and lookFor how long for each.
	recheckInterval = time.Hour
	maxRechecks     = 20
	recheckTimeout  = 5 * time.Second
)

// Sync lists the channels the bot is in, and takes the listing in when it is complete.
// One that breaks off changes nothing: a channel that it did not come to would look left.
// It would begin at the first page again, too: where Slack's limit comes between, Sync
// waits as long as the context allows.
// Then it looks whether channels that the bot is not in are still public.
func (r *Reader) Sync(ctx context.Context) (store.SyncResult, error) {
	own, err := r.Slack.Identity(ctx)
	if err != nil {
		return store.SyncResult{}, fmt.Errorf("learn who the bot is: %w", err)
	}
	now := r.Clock()
	var listed []store.Channel
	var c cursor
	for range maxListPages {
		page, err := r.page(ctx, c.at)
		if err != nil {
			return store.SyncResult{}, fmt.Errorf("list channels: %w", err)
		}
		if page.NoGroups {
			r.noGroups.Do(func() {
				r.Logger.WarnContext(ctx, "group direct messages are not listed: the app lacks mpim:read; install it again with what starter manifest prints")
			})
		}
		for _, ch := range page.Channels {
			listed = append(listed, channels.Row(ch, now))
		}
		more, err := c.next(page.Next)
		if err != nil {
			return store.SyncResult{}, fmt.Errorf("list channels: %w", err)
		}
		if !more {
			synced, err := r.Store.SyncChannels(ctx, own.TeamID, listed)
			if err == nil {
				r.recheckUnwatched(ctx, own.TeamID)
			}
			return synced, err
		}
	}
	return store.SyncResult{}, fmt.Errorf("list channels: %w", errEndless)
}

// page asks for a page of the listing, any but the first until it is not over Slack's limit.
func (r *Reader) page(ctx context.Context, at string) (slack.ChannelPage, error) {
	for {
		page, err := r.Slack.Conversations(ctx, at)
		var refused *slack.Error
		if at == "" || !errors.As(err, &refused) || refused.Kind != slack.RateLimited || !refused.Wait(ctx, rateLimitPause) {
			return page, err
		}
	}
}

// recheckUnwatched asks Slack about public channels that the bot is not in: it lists them no more, and
// sends no events of them, so nothing else would tell that one was made private. What fails
// is left to the next listing.
func (r *Reader) recheckUnwatched(ctx context.Context, team string) {
	ids, err := r.Store.UnjoinedChannels(ctx, team, r.Clock().Add(-recheckInterval), maxRechecks)
	if err != nil {
		r.Logger.WarnContext(ctx, "not known which channels to look at", "error", err)
		return
	}
	for _, id := range ids {
		err := r.Directory.RefreshUnwatched(ctx, team, id, recheckTimeout)
		if err == nil {
			continue
		}
		r.Logger.WarnContext(ctx, "not known whether a channel is still public", "channel", id, "error", err)
		if e, ok := errors.AsType[*slack.Error](err); !ok || e.Kind != slack.Final {
			return // the others would fail as well
		}
	}
}

// Channels is the ids of the channels to be caught up with, the most recently active first.
func (r *Reader) Channels(ctx context.Context) ([]string, error) {
	own, err := r.Slack.Identity(ctx)
	if err != nil {
		return nil, fmt.Errorf("learn who the bot is: %w", err)
	}
	members, err := r.Store.Memberships(ctx, own.TeamID)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(members))
	for i, c := range members {
		ids[i] = c.ID
	}
	return ids, nil
}

// Channel catches up with one channel. Its threads are read once an hour, or now with
// threads set; those that have something unheard, as far as the newest history tells,
// always. What was read before an error stays stored, the result counts it, and the
// next call goes on from there; but where one thread stays unreadable it begins anew, lest
// what is said meanwhile is never listed. Errors of Slack are wrapped as they are; a channel that
// was never listed is store.ErrNotFound.
func (r *Reader) Channel(ctx context.Context, channel string, threads bool) (Result, error) {
	var all Result
	for {
		p, resumed, err := r.startPass(ctx, channel, threads)
		if err != nil {
			return all, err
		}
		before := p.progress()
		err = p.run(ctx)
		all.Read, all.New, all.Taken = all.Read+p.result.Read, all.New+p.result.New, all.Taken+p.result.Taken
		all.Unfinished = p.result.Unfinished
		if err != nil || all.Unfinished {
			if !resumed || p.progress() > before || !p.stuck(ctx, err) {
				r.keepUnfinished(p)
			}
			return all, err
		}
		if !resumed {
			return all, nil
		}
		// What was said since that pass began, or is to be listed again.
		threads = p.stale && p.threadsDue
	}
}

// keepUnfinished keeps a pass to be gone on with, and those that may still be.
func (r *Reader) keepUnfinished(p *pass) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unfinished == nil {
		r.unfinished = map[string]*pass{}
	}
	maps.DeleteFunc(r.unfinished, func(_ string, left *pass) bool { return p.now.Sub(left.now) > unfinishedLifetime })
	r.unfinished[p.channel.ID] = p
}

// takeUnfinished is the pass of a channel that broke off, or nil. It is the caller's now. That
// others may have finished one since does no harm: no mark moves back, and what it has
// listed is not believed for long.
func (r *Reader) takeUnfinished(channel string) *pass {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.unfinished[channel]
	delete(r.unfinished, channel)
	return p
}
