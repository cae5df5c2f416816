package door

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"myao/internal/slack"
	"myao/internal/store"
)

// member delivers that a user joined or left a channel, some seconds after noon, and returns the
// door's answer.
func (b *bundle) member(t *testing.T, event, user, channel string, seconds int) int {
	t.Helper()
	return b.deliver(t, callback(fmt.Sprintf(`{"type":%q,"user":%q,"channel":%q,"event_ts":"%d.000100"}`, event, user, channel, noon.Unix()+int64(seconds))))
}

func (b *bundle) outsiders(t *testing.T, channel string) int {
	t.Helper()
	in, err := b.Store.OutsidersIn(t.Context(), "T1")
	if err != nil {
		t.Fatal(err)
	}
	return in[channel]
}

func TestMembers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.directory.guests = map[string]bool{"UGUEST": true}
	step := func(what string, status, wantStatus, want int) {
		t.Helper()
		if got := b.outsiders(t, "C1"); status != wantStatus || got != want {
			t.Errorf("%s: answered %d with %d outsiders in the channel, want %d and %d", what, status, got, wantStatus, want)
		}
	}
	const joined, left = "member_joined_channel", "member_left_channel"
	step("a colleague joins", b.member(t, joined, "U1", "C1", 1), http.StatusOK, 0)
	step("an app joins", b.member(t, joined, "UROBOT", "C1", 1), http.StatusOK, 0)
	step("the bot joins", b.member(t, joined, "UBOT", "C1", 1), http.StatusOK, 0)
	step("a guest joins", b.member(t, joined, "UGUEST", "C1", 2), http.StatusOK, 1)
	step("a colleague leaves", b.member(t, left, "U1", "C1", 3), http.StatusOK, 1)
	step("the guest leaves", b.member(t, left, "UGUEST", "C1", 3), http.StatusOK, 0)
	b.dropper.err = errors.New("no worker")
	step("the bot leaves while no worker answers", b.member(t, left, "UBOT", "C1", 4), http.StatusServiceUnavailable, 0)
	b.dropper.err = nil
	step("the event comes again", b.member(t, left, "UBOT", "C1", 4), http.StatusOK, 0)
	if want := []string{"C1", "C1"}; !slices.Equal(b.dropper.channels, want) {
		t.Errorf("dropped in %q, want %q", b.dropper.channels, want)
	}
	step("the event of the joining comes again", b.member(t, joined, "UGUEST", "C1", 2), http.StatusOK, 0)

	b.directory.failUsers(errors.New("away"))
	step("somebody unknown joins while Slack does not answer", b.member(t, joined, "UNEW", "C1", 4), http.StatusServiceUnavailable, 1)
	b.directory.failUsers(nil)
	step("the event comes again, of a colleague", b.member(t, joined, "UNEW", "C1", 4), http.StatusOK, 0)
	b.directory.failUsers(&slack.Error{Code: "user_not_found", Kind: slack.Final})
	step("somebody whom Slack does not know joins", b.member(t, joined, "UNOBODY", "C1", 5), http.StatusOK, 1)
}

// People whom Slack does not describe count as outsiders. No channel is read again when they join, however many do.
func TestUnknownMembersOpenNoGap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Missed = func(reason string) { t.Errorf("a gap: %s", reason) }
	b.directory.failUsers(&slack.Error{Code: "ratelimited", Kind: slack.RateLimited})
	const joined = 1000
	for i := range joined {
		if status := b.member(t, "member_joined_channel", fmt.Sprint("UNEW", i), "C1", 1); status != http.StatusServiceUnavailable {
			t.Fatalf("answered %d", status)
		}
	}
	if n := b.outsiders(t, "C1"); n != joined {
		t.Errorf("%d count as outsiders, want all", n)
	}
	if status := b.deliver(t, callback(`{"type":"user_guest_status_changed","user":{"id":"U1"}}`)); status != http.StatusServiceUnavailable {
		t.Errorf("answered %d while Slack does not say who it is", status)
	}
}

func TestGuestChanged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.Store.SaveUsers(t.Context(), "T1", store.User{ID: "U1", Name: "one", Refreshed: noon.Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	b.directory.guests = map[string]bool{"U1": true}
	event := callback(`{"type":"user_guest_status_changed","user":{"id":"U1"}}`)
	b.directory.failUsers(errors.New("away"))
	if status := b.deliver(t, event); status != http.StatusServiceUnavailable {
		t.Errorf("answered %d while Slack does not say who it is", status)
	}
	b.directory.failUsers(nil)
	status := b.deliver(t, event)
	known, err := b.Store.Users(t.Context(), "T1", []string{"U1"})
	if status != http.StatusOK || err != nil || !known["U1"].Guest {
		t.Errorf("answered %d; got %+v, %v", status, known, err)
	}
}
