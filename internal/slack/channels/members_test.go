package channels

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"myao/internal/slack"
	"myao/internal/store"
)

// A channel with more members than Slack lists in time is listed in parts: no page twice, at most one part a minute,
// and nobody waits for it meanwhile.
func TestManyMembersAreListedInParts(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	now := noon
	d.Clock = func() time.Time { return now }
	guest := store.User{ID: "U17-3", Name: "gil", Guest: true, Refreshed: noon}
	if err := d.Store.SaveUsers(t.Context(), "T1", guest); err != nil {
		t.Fatal(err)
	}
	const pages, inTime = 20, 8
	var asked []string
	left := 0 // pages that Slack still answers in time
	s.members = func(ctx context.Context, channel, cursor string) (ids []string, next string, err error) {
		if channel == "C2" {
			return []string{"U1"}, "", nil
		}
		if left--; left < 0 {
			<-ctx.Done()
			return nil, "", ctx.Err()
		}
		asked = append(asked, cursor)
		page, _ := strconv.Atoi(cursor)
		for i := range 5 {
			ids = append(ids, fmt.Sprintf("U%d-%d", page, i))
		}
		if page+1 < pages {
			next = strconv.Itoa(page + 1)
		}
		return ids, next, nil
	}
	list := func(what string, within time.Duration, want error, outsiders, pages int) {
		t.Helper()
		asked, left = nil, inTime
		n, at, err := d.RefreshMembers(t.Context(), "T1", "C1", within)
		if !errors.Is(err, want) || n != outsiders || len(asked) != pages || err == nil && !at.Equal(noon) {
			t.Errorf("%s: %d outsiders as of %s, %v, after the pages %q; want %d, %v and %d pages", what, n, at, err, asked, outsiders, want, pages)
		}
	}
	list("the first reply", 20*time.Millisecond, ErrUnfinished, 0, inTime)
	list("the next reply", time.Hour, ErrUnfinished, 0, 0)
	if _, _, err := d.RefreshMembers(t.Context(), "T1", "C2", time.Hour); err != nil {
		t.Errorf("another channel: %v", err)
	}
	now = now.Add(listingPause)
	list("a minute later", 20*time.Millisecond, ErrUnfinished, 0, inTime)
	if !slices.Equal(asked, []string{"8", "9", "10", "11", "12", "13", "14", "15"}) {
		t.Errorf("the second part began with the pages %q", asked)
	}
	now = now.Add(listingPause)
	list("the rest", time.Hour, nil, 1, pages-2*inTime)
	if len(d.listings.begun) != 0 {
		t.Errorf("%d listings are kept", len(d.listings.begun))
	}
}

// A listing that Slack breaks off, and one of long ago, begin anew.
func TestListingOfMembersBeginsAnew(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	now := noon
	d.Clock = func() time.Time { return now }
	limited := &slack.Error{Code: "ratelimited", Kind: slack.RateLimited}
	for _, step := range []struct {
		what  string
		after time.Duration
		err   error
		want  []string
	}{
		{"Slack is away", 0, unavailable, []string{"", "more"}},
		{"at its rate limit", 0, limited, []string{"", "more"}},
		{"after a pause", listingPause, limited, []string{"more"}},
		{"it refuses the cursor", listingPause, &slack.Error{Code: "invalid_cursor", Kind: slack.Final}, []string{"more"}},
		{"at its rate limit again", 0, limited, []string{"", "more"}},
		{"much later", listingLifetime + time.Second, limited, []string{"", "more"}},
	} {
		var asked []string
		s.members = func(_ context.Context, _, cursor string) ([]string, string, error) {
			if asked = append(asked, cursor); cursor != "" {
				return nil, "", step.err
			}
			return []string{"U1"}, "more", nil
		}
		now = now.Add(step.after)
		if _, _, err := d.RefreshMembers(t.Context(), "T1", "C1", time.Hour); !errors.Is(err, step.err) || !slices.Equal(asked, step.want) {
			t.Errorf("%s: asked for %q, %v; want %q", step.what, asked, err, step.want)
		}
	}
}

// Slack is asked once which app a bot id belongs to, and again where it did not answer.
func TestApp(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	s.apps = map[string]string{"B1": "A1"}
	gone := &slack.Error{Code: "bot_not_found", Kind: slack.Final}
	for i, c := range []struct {
		bot   string
		err   error
		want  string
		fails bool
		asked int
	}{
		{"B1", unavailable, "", true, 1}, {"B1", nil, "A1", false, 2}, {"B1", unavailable, "A1", false, 2},
		{"B2", gone, "", false, 3}, {"B2", nil, "", false, 3}, {"USLACKBOT", nil, "", false, 3},
	} {
		s.err = c.err
		if got, err := d.App(t.Context(), "T1", c.bot); got != c.want || (err != nil) != c.fails || s.asked != c.asked {
			t.Errorf("%d: %s is of %q, %v, after %d questions; want %q and %d", i, c.bot, got, err, s.asked, c.want, c.asked)
		}
	}
}

// Slack is asked once who is a person. Who is not known to be one is none.
func TestPerson(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	for i, c := range []struct {
		user  string
		err   error
		want  bool
		asked int
	}{
		{"U1", unavailable, false, 1}, {"U1", nil, true, 2}, {"U1", unavailable, true, 2},
		{"UAPP", nil, false, 3}, {"UAPP", nil, false, 3},
	} {
		s.err = c.err
		if got := d.Person(t.Context(), "T1", c.user); got != c.want || s.asked != c.asked {
			t.Errorf("%d: person %s is %v after %d questions, want %v and %d", i, c.user, got, s.asked, c.want, c.asked)
		}
	}
}
