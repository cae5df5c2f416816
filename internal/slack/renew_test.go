package slack

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// A call under way ends with the token that it began with, even in its error; the next has the new one.
func TestRenew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		renewed := make(chan struct{})
		c := New(Config{Token: "xoxb-old", HTTPClient: &http.Client{Transport: tripper(func(r *http.Request) error {
			_ = r.ParseForm()
			if r.PostForm.Get("token") == "xoxb-old" {
				<-renewed
			}
			return errors.New("not for " + r.PostForm.Get("token") + " at all")
		})}})
		ask := func() string {
			_, err := c.Channel(t.Context(), "C1")
			return err.Error()
		}
		var underway sync.WaitGroup
		underway.Go(func() {
			if got := ask(); !strings.HasSuffix(got, "not for [token] at all") {
				t.Errorf("under way: %s", got)
			}
		})
		synctest.Wait()
		c.Renew("xoxb-new")
		if got := ask(); !strings.HasSuffix(got, "not for [token] at all") {
			t.Errorf("after it: %s", got)
		}
		close(renewed)
		underway.Wait()
		var all sync.WaitGroup
		for _, token := range []string{"xoxb-3", "xoxb-4", "xoxb-4"} {
			all.Go(func() { c.Renew(token) })
			all.Go(func() { ask() })
		}
		all.Wait()
	})
}

type tripper func(r *http.Request) error

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return nil, t(r) }

// The token of an organisation serves several workspaces: four methods want to know which. Without one nothing is sent.
func TestTeamID(t *testing.T) {
	t.Parallel()
	for _, team := range []string{"", "T5"} {
		f, _ := newFake(t, says(`{"ok":true,"bot":{"id":"B1"},"channels":[],"members":[],"user":{},"channel":{"id":"D1"}}`))
		c := New(Config{Token: token, APIURL: f.URL + "/api", HTTPClient: patient, TeamID: team, Identity: inTeam})
		_, _ = c.User(t.Context(), "B1")
		_, _ = c.Users(t.Context(), "")
		_, _ = c.Conversations(t.Context(), "")
		_, _ = c.VisibleChannels(t.Context(), "")
		_, _ = c.User(t.Context(), "U1")
		_, _ = c.OpenDirect(t.Context(), "U1")
		_ = c.PublishHome(t.Context(), "U1", nil)
		got := map[string]string{}
		for _, call := range f.seen() {
			if call.form.Has("team_id") {
				got[call.method] = call.form.Get("team_id")
			}
		}
		want := map[string]string{"users.list": ""} // slack-go always has it
		if team != "" {
			want = map[string]string{"bots.info": team, "users.list": team, "users.conversations": team, "conversations.list": team}
		}
		if len(f.seen()) != 7 || !reflect.DeepEqual(got, want) {
			t.Errorf("for %q: %v, want %v, by %d calls", team, got, want, len(f.seen()))
		}
	}
}

// What the installation knows nobody asks for. Slack tells an organisation's token the organisation.
func TestKnownIdentity(t *testing.T) {
	t.Parallel()
	f, _ := newFake(t, says(`{"ok":true,"team_id":"E1","enterprise_id":"E1","is_enterprise_install":true,"user_id":"UBOT","bot_id":"BBOT"}`))
	c := New(Config{Token: token, APIURL: f.URL + "/api", HTTPClient: patient, Identity: inTeam})
	if err := c.LoadAppID(t.Context()); err != nil {
		t.Error(err)
	}
	if id, err := c.Identity(t.Context()); id != inTeam || err != nil || len(f.seen()) > 0 {
		t.Errorf("%+v, %v, by %d calls", id, err, len(f.seen()))
	}
	c = New(Config{Token: token, APIURL: f.URL + "/api", HTTPClient: patient, TeamID: "T5"})
	if id, err := c.Identity(t.Context()); err != nil || id.TeamID != "T5" || id.OrgID != "E1" {
		t.Errorf("%+v, %v", id, err)
	}
}
