package catchup

import (
	"context"
	"errors"
	"time"

	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/store"
)

const (
	// usersInterval is how often all users are listed. It is a little less than the day after which
	// a context asks Slack for a name again.
	usersInterval = 23 * time.Hour
	// peopleTimeout bounds both listings of people after a listing of channels: catch-up waits for it.
	peopleTimeout = 2 * time.Minute
	// membersInterval is how often Slack is asked who is in a channel, in a workspace with guests,
	// and maxMemberLists in how many channels after one listing of channels.
	membersInterval = 24 * time.Hour
	maxMemberLists  = 50
	// memberListTimeout bounds the part of a listing that is made of one channel at a time, so that large channels
	// leave time for others.
	memberListTimeout = 10 * time.Second
)

// refreshPeople has Slack list the users and the members of channels, as far as it is time to, and
// saves who they are. Failures are left to the next listing of channels.
func (r *Reader) refreshPeople(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, peopleTimeout)
	defer cancel()
	r.refreshUsers(ctx)
	r.refreshMembers(ctx, r.Own.TeamID)
}

// refreshUsers lists the workspace's users once a day, and saves what they are called and who is a
// guest. A listing that takes too long goes on where it ended.
func (r *Reader) refreshUsers(ctx context.Context) {
	known, err := r.Store.Users(ctx, r.Own.TeamID, []string{r.Own.UserID})
	if err == nil && r.Clock().Sub(known[r.Own.UserID].Refreshed) < usersInterval {
		return
	}
	r.mu.Lock()
	left := r.people
	r.people = nil
	r.mu.Unlock()
	if left == nil {
		left = &userListing{began: r.Clock()}
	}
	if err == nil {
		err = r.listUsers(ctx, left)
	}
	refused, ok := errors.AsType[*slack.Error](err)
	switch {
	case err == nil:
		r.Logger.InfoContext(ctx, "people listed", "people", left.people, "outsiders", left.outsiders)
	case ctx.Err() != nil, ok && refused.Kind == slack.RateLimited:
		r.Logger.InfoContext(ctx, "people not all listed yet", "people", left.people)
		r.mu.Lock()
		r.people = left
		r.mu.Unlock()
	default:
		r.Logger.WarnContext(ctx, "people not listed; names and guests are as they were", "error", err)
	}
}

// userListing is a listing of users that may be interrupted.
type userListing struct {
	cursor
	began             time.Time
	people, outsiders int
}

// listUsers saves the users page by page, and the bot itself at last: its row tells when the last
// complete listing began.
func (r *Reader) listUsers(ctx context.Context, l *userListing) error {
	for more := true; more; {
		asked := r.Clock()
		var page slack.UserPage
		err := waitAtLimit(ctx, l.at == "", func() (err error) {
			page, err = r.Slack.Users(ctx, l.at)
			return err
		})
		if err != nil {
			return err
		}
		users, err := r.usersOf(ctx, page, asked)
		if err != nil {
			return err
		}
		if err := r.Store.SaveUsers(ctx, r.Own.TeamID, users...); err != nil {
			return err
		}
		for _, u := range users {
			if l.people++; u.Outsider() {
				l.outsiders++
			}
		}
		if more, err = l.next(page.Next); err != nil {
			return err
		}
	}
	return r.Store.SaveUsers(ctx, r.Own.TeamID,
		store.User{ID: r.Own.UserID, Name: r.Own.Name, Bot: true, Refreshed: l.began})
}

// usersOf returns what is kept of a page of users. Deactivated accounts are kept only if they are
// known. Slack may list a user twice in a page.
func (r *Reader) usersOf(ctx context.Context, page slack.UserPage, asked time.Time) ([]store.User, error) {
	var deleted []string
	for _, u := range page.Users {
		if u.Deleted {
			deleted = append(deleted, u.ID)
		}
	}
	known, err := r.Store.Users(ctx, r.Own.TeamID, deleted)
	if err != nil {
		return nil, err
	}
	var users []store.User
	listed := map[string]bool{r.Own.UserID: true}
	for _, u := range page.Users {
		if _, kept := known[u.ID]; !listed[u.ID] && (kept || !u.Deleted) {
			listed[u.ID] = true
			users = append(users, channels.User(u, asked))
		}
	}
	return users, nil
}

// refreshMembers has Slack list who is in the channels where guests may be. It makes no call in a
// workspace without guests or other outsiders. What it does not get to is left to the next listing of
// channels.
func (r *Reader) refreshMembers(ctx context.Context, team string) {
	ids, err := r.Store.MembersDue(ctx, team, r.Clock().Add(-membersInterval), maxMemberLists)
	if err != nil {
		r.Logger.WarnContext(ctx, "cannot tell in which channels guests may be", "error", err)
		return
	}
	listed := 0
	for _, id := range ids {
		_, _, err := r.Directory.RefreshMembers(ctx, team, id, memberListTimeout)
		switch {
		case err == nil:
			listed++
			continue
		case ctx.Err() == nil && errors.Is(err, channels.ErrUnfinished):
			continue
		}
		r.Logger.WarnContext(ctx, "cannot tell whether guests are in a channel", "channel", id, "error", err)
		if e, ok := errors.AsType[*slack.Error](err); ctx.Err() != nil || !ok || e.Kind == slack.RateLimited {
			return // the others would fail as well
		}
	}
	if len(ids) > 0 {
		r.Logger.InfoContext(ctx, "members of channels listed", "channels", listed, "unfinished", len(ids)-listed)
	}
}
