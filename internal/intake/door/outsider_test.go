package door

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"myao/internal/chat"
	"myao/internal/store"
)

// Outsiders are told by what Slack says about them, however they give their orders.
func TestOrdersOfOutsiders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	b.directory.guests = map[string]bool{"UGUEST": true}
	for id, external := range map[string]bool{"C1": false, "CSHARED00": true} {
		if err := b.Store.SaveChannel(t.Context(), "T1", store.Channel{ID: id, Member: true, External: external}); err != nil {
			t.Fatal(err)
		}
	}
	b.deliver(t, callback(hello)) // of U1
	b.deliver(t, callback(strings.NewReplacer("100.000001", "101.000001", `"U1"`, `"UGUEST"`).Replace(hello)))

	b.deliver(t, reaction("UGUEST", shh, "U1", "100.000001"))
	b.deliver(t, reaction("UGUEST", shh, "UGUEST", "101.000001"))
	b.deliver(t, reaction("U3", shh, "U1", "100.000001"))
	want := []string{"100.000001 said", "100.000001 hushed slack:U3", "101.000001 said", "101.000001 hushed slack:UGUEST"}
	if got := b.changes(t, chat.Conversation{Team: "T1", Channel: "C1"}); !slices.Equal(got, want) {
		t.Errorf("the conversation gets %q, want %q", got, want)
	}
	if got := b.click(t, shortcut("UGUEST", "C1", "200.000001", "")); !strings.Contains(got, "guests and people from other companies may not") {
		t.Errorf("the shortcut: %q", got)
	}

	from := func(user, channel, team string) string {
		t.Helper()
		body := strings.NewReplacer("user_id=U1", "user_id="+user, "channel_id=C1", "channel_id="+channel, "team_id=T1", "team_id="+team).Replace(form("status"))
		_, answer := b.postTo(t, commands, body, sign(body, secret, noon), false)
		return said(t, answer)
	}
	for _, test := range []struct {
		name, user, channel string
		fail                bool
		outside             bool
	}{
		{"a guest", "UGUEST", "C1", false, true},
		{"a colleague in a shared channel", "U1", "CSHARED00", false, false},
		{"a guest whom Slack described before", "UGUEST", "C1", true, true},
		{"a colleague whom Slack described before", "U1", "CSHARED00", true, false},
		{"somebody unknown", "U9", "C1", true, false},
		{"somebody unknown in a shared channel", "U9", "CSHARED00", true, true},
	} {
		b.directory.failUsers(nil)
		if test.fail {
			b.directory.failUsers(errors.New("not now"))
		}
		if got := from(test.user, test.channel, "T1"); strings.HasSuffix(got, "from outside") != test.outside {
			t.Errorf("%s: %q", test.name, got)
		}
	}
	unknown := strings.Replace(shortcut("U9", "C1", "200.000001", ""), url.QueryEscape(`"user":{"id"`), url.QueryEscape(`"user":{"team_id":"T2","id"`), 1)
	if got := b.click(t, unknown); !strings.Contains(got, "guests and people from other companies may not") {
		t.Errorf("the shortcut of somebody unknown from another workspace: %q", got)
	}
}
