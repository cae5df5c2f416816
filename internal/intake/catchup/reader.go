package catchup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"myao/internal/config"
	"myao/internal/intake/heartbeat"
	"myao/internal/runtime/required"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/store"
)

// Slack lists channels and reads them. Errors are *slack.Error.
type Slack interface {
	Conversations(ctx context.Context, cursor string) (slack.ChannelPage, error)
	Users(ctx context.Context, cursor string) (slack.UserPage, error)
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
	// RefreshUnwatched saves how Slack describes a channel that the bot is not in.
	RefreshUnwatched(ctx context.Context, team, channel string, within time.Duration) error
	// RefreshMembers saves which outsiders are in a channel, according to Slack, as of an instant.
	RefreshMembers(ctx context.Context, team, channel string, within time.Duration) (outsiders int, asked time.Time,
		err error)
}

// Reader reads what the door missed. Create one with New. It is safe for concurrent use; several may read the same
// channel.
type Reader struct {
	Store *store.Store
	// Own is who the bot is.
	Own       slack.Identity
	Slack     Slack
	Recorder  Recorder
	Directory Directory
	// FirstWindow is how far back a channel is read for the first time.
	FirstWindow time.Duration
	// ThreadWindow is how long ago a thread may have been active to be read.
	ThreadWindow time.Duration
	Clock        func() time.Time
	Logger       *slog.Logger

	noGroups sync.Once // the warning that group direct messages are not listed

	mu sync.Mutex
	// unfinished holds interrupted passes by channel. They are not worth a table: a process that has
	// none starts anew.
	unfinished map[string]*pass
	// people is an interrupted listing of users; nil if there is none.
	people *userListing
}

// New returns a reader that has all it needs. It panics with the name of a field that is missing.
func New(r *Reader) *Reader { return required.Fields(r) }

// Result counts what a pass found.
type Result struct {
	// Read counts the messages that Slack listed, New those that were unknown.
	Read, New int
	// Taken counts the messages that were recorded as changes now.
	Taken int
	// Unfinished is set if there is more than one call reads. The next call continues.
	Unfinished bool
}

const (
	// overlap is read again, because Slack shows some messages a little late.
	overlap = 2 * time.Minute
	// listingLifetime is how long the listing of a pass counts as current. That is as long as it takes,
	// in several calls, to read the threads of nearly every channel.
	listingLifetime = time.Hour
	// stuckAfter is how long a pass may go without progress before another begins. It is longer than the
	// retries of one round, so that at most one begins a round.
	stuckAfter = 5 * time.Minute
	// unfinishedLifetime is how long an interrupted pass is kept. Rounds are more frequent, except for
	// channels that the bot has left.
	unfinishedLifetime = 6 * time.Hour
	// readInterval is how often all channels are read, even if no event can have been missed.
	readInterval = 24 * time.Hour
	// maxListPages bounds a listing: 100,000 channels at 200 a page. rateLimitPause is the pause if
	// Slack refuses more pages without saying for how long.
	maxListPages   = 500
	rateLimitPause = time.Second
	// recheckInterval is how often Slack is asked about a public channel that the bot is not in,
	// maxRechecks about how many of them after one listing, and recheckTimeout how long it may take for
	// each.
	recheckInterval = time.Hour
	maxRechecks     = 20
	recheckTimeout  = 5 * time.Second
)

// Sync lists the channels that the bot is in, and saves the complete listing. An incomplete listing
// changes nothing, since a channel missing from it would look as if the bot had left. It would also
// start at the first page again. So at Slack's rate limit Sync waits as long as the context allows.
// Then Sync checks whether channels that the bot is not in are still public, and who the people
// are: once a day all users, and in a workspace with guests the members of channels.
func (r *Reader) Sync(ctx context.Context) (store.SyncResult, error) {
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
				r.Logger.WarnContext(ctx, "group direct messages are not listed: the app lacks mpim:read; install it "+
					"again with the output of starter manifest")
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
			synced, err := r.Store.SyncChannels(ctx, r.Own.TeamID, listed)
			if err == nil {
				r.recheckUnwatched(ctx)
				r.refreshPeople(ctx)
			}
			return synced, err
		}
	}
	return store.SyncResult{}, fmt.Errorf("list channels: %w", errEndless)
}

// page reads a page of the listing. At Slack's rate limit it waits, except for the first page.
func (r *Reader) page(ctx context.Context, at string) (page slack.ChannelPage, err error) {
	err = waitAtLimit(ctx, at == "", func() (err error) {
		page, err = r.Slack.Conversations(ctx, at)
		return err
	})
	return page, err
}

// waitAtLimit makes a call. At Slack's rate limit it waits as long as the context allows and makes
// it again, unless it is the first of a listing.
func waitAtLimit(ctx context.Context, first bool, call func() error) error {
	for {
		err := call()
		var refused *slack.Error
		if first || !errors.As(err, &refused) || refused.Kind != slack.RateLimited ||
			!refused.Wait(ctx, rateLimitPause) {
			return err
		}
	}
}

// recheckUnwatched asks Slack about public channels that the bot is not in. Slack does not list them, and
// sends no events of them, so nothing else would show that one became private. Failures are left to
// the next listing.
func (r *Reader) recheckUnwatched(ctx context.Context) {
	team := r.Own.TeamID
	ids, err := r.Store.UnjoinedChannels(ctx, team, r.Clock().Add(-recheckInterval), maxRechecks)
	if err != nil {
		r.Logger.WarnContext(ctx, "cannot tell which channels to check", "error", err)
		return
	}
	for _, id := range ids {
		err := r.Directory.RefreshUnwatched(ctx, team, id, recheckTimeout)
		if err == nil {
			continue
		}
		r.Logger.WarnContext(ctx, "cannot tell whether a channel is still public", "channel", id, "error", err)
		if e, ok := errors.AsType[*slack.Error](err); !ok || e.Kind != slack.Final {
			return // the others would fail as well
		}
	}
}

// Channels returns the ids of the channels to catch up with, the most recently active first.
func (r *Reader) Channels(ctx context.Context) ([]string, error) {
	members, err := r.Store.Memberships(ctx, r.Own.TeamID)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(members))
	for i, c := range members {
		ids[i] = c.ID
	}
	return ids, nil
}

// Due returns the number of the newest gap, or 0 if all channels have been read since. It opens a gap if
// no starter has been there lately, or if all channels were last read more than a day ago.
func (r *Reader) Due(ctx context.Context) (gap int64, err error) {
	starters, err := r.Store.Starters(ctx)
	if err != nil {
		return 0, err
	}
	gaps, err := r.Store.Gaps(ctx, r.Own.TeamID)
	if err != nil {
		return 0, err
	}
	now, reason := r.Clock(), ""
	switch {
	case !slices.ContainsFunc(starters, func(s store.Starter) bool {
		return now.Sub(s.Beat).
			Abs() <= heartbeat.Lifetime
	}):
		reason = "no starter is there"
	case gaps.Due:
		return gaps.Newest, nil
	case now.Sub(gaps.Closed).Abs() > readInterval:
		reason = "they were last read a day ago"
	default:
		return 0, nil
	}
	if err := r.Store.OpenGap(ctx); err != nil {
		return 0, err
	}
	r.Logger.InfoContext(ctx, "all channels will be read", "reason", reason)
	return r.Store.NewestGap(ctx)
}

// Unread returns the channels that have not been read since a gap, except some, at most limit, and how
// many there are without that limit. Those read longest ago come first, then the most recently active.
// If there are none, it closes the gap.
func (r *Reader) Unread(
	ctx context.Context, gap int64, except []string, limit int,
) (ids []string, total int, err error) {
	ids, total, err = r.Store.UnreadChannels(ctx, r.Own.TeamID, gap, except, limit)
	if err == nil && len(ids) == 0 {
		err = r.Store.CloseGap(ctx, r.Own.TeamID)
	}
	return ids, total, err
}

// Channel catches up with one channel and its threads.
//
// What was read before an error stays saved and counted, and the next call continues from there. But
// if the same thread stays unreadable, the next call starts anew, so that messages posted meanwhile
// are listed. Errors of Slack are wrapped. A channel that was never listed is store.ErrNotFound.
func (r *Reader) Channel(ctx context.Context, channel string) (Result, error) {
	var all Result
	for threads := true; ; {
		p, gap, resumed, err := r.startPass(ctx, channel, threads)
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
		// Now what was posted since that pass began, or must be listed again. After a gap that means all threads.
		threads = p.threadsDue && (p.stale || p.gap < gap)
	}
}

// keepUnfinished keeps an interrupted pass, and drops those that are too old.
func (r *Reader) keepUnfinished(p *pass) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unfinished == nil {
		r.unfinished = map[string]*pass{}
	}
	maps.DeleteFunc(r.unfinished, func(_ string, left *pass) bool { return p.now.Sub(left.now) > unfinishedLifetime })
	r.unfinished[p.channel.ID] = p
}

// takeUnfinished returns the interrupted pass of a channel, or nil, and no longer keeps it. Another pass
// may have finished since. That does no harm: marks never move back, and an old listing is stale.
func (r *Reader) takeUnfinished(channel string) *pass {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.unfinished[channel]
	delete(r.unfinished, channel)
	return p
}
