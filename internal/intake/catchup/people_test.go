package catchup

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"myao/internal/slack/channels"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/inprocess"
)

// user returns the row of a user.
func (b *bundle) user(id string) store.User {
	b.Helper()
	known, err := b.Store.Users(b.Context(), "T1", []string{id})
	if err != nil {
		b.Fatal(err)
	}
	return known[id]
}

// Slack is asked once a day what people are called and who is a guest, and in a workspace without a
// guest for no members, however many channels there are.
func TestPeopleAreListedOnceADay(t *testing.T) {
	inprocess.EachDatabase(t, func(t *testing.T, url string) {
		b := prepare(t, options{url: url, Config: workspace.Config{PageSize: 30}})
		for i := range maxMemberLists + 20 {
			b.Workspace.AddChannel(workspace.Public, fmt.Sprint("c", i), b.Workspace.Bot().UserID, b.Alice.ID)
		}
		gone, guest := b.Workspace.AddUser("gone"), b.Workspace.AddUserAs(workspace.User{Name: "gil", Display: "gil"})
		b.Workspace.Deactivate(gone.ID)
		b.Workspace.AddUserAs(workspace.User{Name: "mallory", Team: "T9"})
		for range 2 {
			b.sync()
		}
		if n, m := b.calls("users.list"), b.calls("conversations.members"); n != 1 || m != 0 {
			t.Errorf("users.list was called %d times, conversations.members %d times", n, m)
		}
		if u := b.user(b.Alice.ID); u.Name != "alice" || u.Outsider() || !u.Refreshed.Equal(noon) {
			t.Errorf("got %+v", u)
		}
		if u := b.user(gone.ID); u != (store.User{}) {
			t.Errorf("kept of a deactivated account: %+v", u)
		}
		b.Workspace.SetGuest(guest.ID, true)
		b.Workspace.Join(b.General, guest.ID)
		b.Time.Set(noon.Add(22 * hours))
		b.sync()
		if n := b.calls("users.list"); n != 1 {
			t.Errorf("users.list was called %d times within a day", n)
		}
		b.Time.Set(noon.Add(24 * hours))
		b.sync()
		if n, m := b.calls("users.list"), b.calls("conversations.members"); n != 2 || m != maxMemberLists {
			t.Errorf("with a guest users.list was called %d times, conversations.members %d times", n, m)
		}
		if u := b.user(guest.ID); !u.Guest {
			t.Errorf("got %+v, want a guest", u)
		}
	})
}

// A guest whose coming and going no event told is found by the listing of members.
func TestMembersAreListedWhereGuestsMayBe(t *testing.T) {
	t.Parallel()
	b := prepare(t, options{Config: workspace.Config{PageSize: 2}})
	for i := range 3 {
		b.Workspace.Join(b.General, b.Workspace.AddUser(fmt.Sprint("user", i)).ID)
	}
	guest := b.Workspace.AddUserAs(workspace.User{Name: "gil", Guest: true})
	b.Workspace.AddChannel(workspace.DM, "", guest.ID)
	b.Workspace.Join(b.General, guest.ID)
	in := func(when string, want int) {
		t.Helper()
		b.sync()
		got, err := b.Store.OutsidersIn(t.Context(), "T1")
		if err != nil || got[b.General] != want {
			t.Errorf("%s: %v, %v; want %d", when, got, err, want)
		}
	}
	b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.members", Match: workspace.LaterPage, Times: 1, Error: "fatal_error"})
	in("half a list", 0)
	b.Time.Set(noon.Add(10 * minutes))
	in("the whole list", 1)
	calls := b.calls("conversations.members")
	b.Workspace.Leave(b.General, guest.ID)
	in("asked a moment ago", 1)
	if n := b.calls("conversations.members"); n != calls {
		t.Errorf("asked again %d times", n-calls)
	}
	b.Time.Set(noon.Add(25 * hours))
	in("a day later", 0)
}

// unfinished is a Directory that does not get to the end of a channel's members.
type unfinished struct {
	Directory
	channel string
}

func (u unfinished) RefreshMembers(ctx context.Context, team, channel string, within time.Duration) (int, time.Time, error) {
	if channel == u.channel {
		return 0, time.Time{}, fmt.Errorf("list members: %w", channels.ErrUnfinished)
	}
	return u.Directory.RefreshMembers(ctx, team, channel, within)
}

// A channel with too many members keeps no other from being listed.
func TestManyMembersStarveNoOtherChannel(t *testing.T) {
	t.Parallel()
	b := prepare(t, options{})
	guest := b.Workspace.AddUserAs(workspace.User{Name: "gil", Guest: true})
	other := b.Workspace.AddChannel(workspace.Public, "other", b.Workspace.Bot().UserID, guest.ID)
	b.Workspace.Join(b.General, guest.ID)
	b.Directory = unfinished{b.Directory, b.General}
	b.sync()
	got, err := b.Store.OutsidersIn(t.Context(), "T1")
	if err != nil || got[b.General] != 0 || got[other] != 1 {
		t.Errorf("got %v, %v; want the guest in the other channel", got, err)
	}
}

// A listing of users that Slack's rate limit interrupts goes on where it ended.
func TestListingOfPeopleGoesOn(t *testing.T) {
	t.Parallel()
	b := prepare(t, options{Config: workspace.Config{PageSize: 1}})
	b.Workspace.AddUser("bob")
	b.Workspace.Faults().Add(workspace.Fault{Method: "users.list", Match: workspace.LaterPage, Times: 1, Status: 429, RetryAfter: "3600"})
	b.sync()
	if !strings.Contains(b.log.String(), "people not all listed yet") || b.calls("users.list") != 2 {
		t.Errorf("%d calls:\n%s", b.calls("users.list"), b.log)
	}
	b.sync()
	if n := b.calls("users.list"); n != 4 || b.user(b.Alice.ID).Name != "alice" {
		t.Errorf("%d calls, want two of three pages and one refused:\n%s", n, b.log)
	}
	b.sync()
	if n := b.calls("users.list"); n != 4 {
		t.Errorf("%d calls after a complete listing", n)
	}
}

// What Slack refuses fails no sync.
func TestPeopleThatCannotBeListed(t *testing.T) {
	t.Parallel()
	b := prepare(t, options{})
	b.Workspace.Faults().Add(workspace.Fault{Method: "users.list", Error: "missing_scope"})
	b.sync()
	if !strings.Contains(b.log.String(), "people not listed") || b.user(b.Alice.ID).Name != "" {
		t.Errorf("logged\n%s", b.log)
	}
}
