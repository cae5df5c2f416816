package channels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
)

const (
	// maxMemberPages bounds the members of a channel: a hundred thousand, at 200 a page.
	maxMemberPages = 500
	// listingPause is how long a listing of members rests after a part of it, which has taken its caller's time.
	listingPause = time.Minute
	// listingLifetime is how long an incomplete listing is kept.
	listingLifetime = time.Hour
)

// ErrUnfinished is returned while the listing of a channel's members is not complete. A later call goes on with it.
var ErrUnfinished = errors.New("the members are not all listed yet")

// memberListings keeps the listings of members that are not complete, by team and channel. The zero value is ready.
// They are not worth a table: a process that has none begins anew.
type memberListings struct {
	mu    sync.Mutex
	begun map[string]*memberListing
}

// memberListing is how far the listing of a channel's members has come.
type memberListing struct {
	began  time.Time
	rests  time.Time // until then
	busy   bool
	cursor string
	pages  int
	ids    []string
}

// take returns the listing of a channel for the caller to go on with, unless another one does or it rests.
func (m *memberListings) take(key string, now time.Time) (*memberListing, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.begun, func(_ string, l *memberListing) bool {
		return !l.busy &&
			now.Sub(l.began) > listingLifetime
	})
	l := m.begun[key]
	switch {
	case l == nil:
		l = &memberListing{began: now}
	case l.busy, now.Before(l.rests):
		return nil, false
	}
	if m.begun == nil {
		m.begun = map[string]*memberListing{}
	}
	l.busy, m.begun[key] = true, l
	return l, true
}

// put gives a listing back, which rests until a time, or drops it if that is zero.
func (m *memberListings) put(key string, l *memberListing, rests time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.busy, l.rests = false, rests; rests.IsZero() {
		delete(m.begun, key)
	}
}

// RefreshMembers has Slack list who is in a channel, for as long as within, and saves the outsiders
// among them. It returns how many there are, as of an instant. Where the time or Slack's rate limit ends it, what was
// listed is kept, and a call after a pause goes on with it: so a large channel costs few replies their time, and is
// listed in the end. Until then the error is ErrUnfinished, or Slack's, wrapped, and nothing changes.
func (d *Directory) RefreshMembers(
	ctx context.Context, team, id string, within time.Duration,
) (outsiders int, asked time.Time, err error) {
	key := team + "/" + id
	l, ok := d.listings.take(key, d.Clock())
	if !ok {
		return 0, time.Time{}, fmt.Errorf("list members of %s: %w", id, ErrUnfinished)
	}
	var rests time.Time
	defer func() { d.listings.put(key, l, rests) }()
	ask, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		ids, next, err := d.Slack.Members(ask, id, l.cursor)
		refused, ok := errors.AsType[*slack.Error](err)
		switch {
		case err != nil && ask.Err() != nil:
			rests = d.Clock().Add(listingPause)
			return 0, time.Time{}, fmt.Errorf("list members of %s: %w", id, ErrUnfinished)
		case err != nil:
			if ok && refused.Kind == slack.RateLimited {
				rests = d.Clock().Add(listingPause)
			}
			return 0, time.Time{}, fmt.Errorf("list members of %s: %w", id, err)
		}
		l.ids, l.cursor = append(l.ids, ids...), next
		if l.pages++; l.pages == maxMemberPages && next != "" {
			return 0, time.Time{}, fmt.Errorf("list members of %s: %w", id, errors.New("slack returns too many pages"))
		}
		if next == "" {
			outsiders, err := d.Store.SaveMembers(ctx, team, id, l.ids, l.began)
			return outsiders, l.began, err
		}
	}
}

// User returns what the store keeps of Slack's description of a user. asked is when Slack was
// asked.
func User(u slack.User, asked time.Time) store.User {
	return store.User{ID: u.ID, Name: u.Name, Bot: u.IsBot, Guest: u.Guest, Stranger: u.Stranger,
		Zone: cmp.Or(u.Zone, store.NoZone), Refreshed: asked}
}

// appFor is how long the app of a bot is kept in memory. It does not change.
const appFor = 24 * time.Hour

// App returns the id of the app that a bot id belongs to; it is empty where Slack tells none. Slack is asked for a
// second. App returns its error, unless Slack refuses for good.
func (d *Directory) App(ctx context.Context, team, bot string) (string, error) {
	if !strings.HasPrefix(bot, "B") || d.Slack == nil {
		return "", nil
	}
	key, now := chat.Scope{Team: team, Channel: bot}, d.Clock()
	if known := d.apps.get(key); now.Before(known.until) {
		return known.name, nil
	}
	ask, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	described, err := d.Slack.User(ask, bot)
	if err != nil && !final(err) {
		return "", fmt.Errorf("ask for the app of %s: %w", bot, err)
	}
	if err != nil {
		d.Logger.WarnContext(ctx, "app of a bot not known", "bot", bot, "error", err)
	}
	d.apps.put(key, named{described.App, now.Add(appFor)})
	return described.App, nil
}

// Person reports whether a user is a person and no app. Slack is asked about a user whom it has never described, for a
// second. Who is not known to be a person then is none.
func (d *Directory) Person(ctx context.Context, team, id string) bool {
	known, err := d.Store.Users(ctx, team, []string{id})
	user := known[id]
	if err == nil && user.Refreshed.Unix() <= 0 && d.Slack != nil {
		ask, cancel := context.WithTimeout(ctx, requestWait)
		defer cancel()
		asked := d.Clock()
		var described slack.User
		if described, err = d.Slack.User(ask, id); err == nil {
			user = User(described, asked)
			err = d.Store.SaveUsers(ctx, team, user)
		}
	}
	if err != nil {
		d.Logger.WarnContext(ctx, "not known whether a user is a person", "user", id, "error", err)
	}
	return user.Person()
}
