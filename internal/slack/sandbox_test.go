package slack_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"myao/internal/slack"
	"myao/sandbox/workspace"
)

// patient is a client whose calls take as long as the machine needs.
var patient = &http.Client{Timeout: time.Hour}

func standIn(t *testing.T, cfg workspace.Config) (*workspace.Workspace, *slack.Client) {
	t.Helper()
	w := workspace.New(cfg)
	server := httptest.NewServer(w.Handler())
	t.Cleanup(func() { server.Close(); w.Close() })
	return w, slack.New(slack.Config{Token: "xoxb-sandbox", APIURL: server.URL + "/api", HTTPClient: patient})
}

func TestConversationsOfTheSandbox(t *testing.T) {
	t.Parallel()
	w, c := standIn(t, workspace.Config{PageSize: 2})
	alice, bot := w.AddUser("alice").ID, w.Bot().UserID
	general := w.AddChannel(workspace.Public, "general", alice, bot)
	secret := w.AddChannel(workspace.Private, "secret", alice, bot)
	old := w.AddChannel(workspace.Public, "old", bot)
	w.AddChannel(workspace.Public, "elsewhere", alice)
	dm := w.AddChannel(workspace.DM, "", alice)
	group := w.AddChannel(workspace.GroupDM, "", alice, w.AddUser("bob").ID, bot)
	w.AddChannel(workspace.GroupDM, "", alice, w.AddUser("carol").ID)
	w.Archive(old, true)

	list := func() map[string]slack.Channel {
		found := map[string]slack.Channel{}
		for cursor := ""; ; {
			page, err := c.Conversations(t.Context(), cursor)
			if err != nil {
				t.Fatal(err)
			}
			for _, ch := range page.Channels {
				found[ch.ID] = ch
			}
			if cursor = page.Next; cursor == "" {
				return found
			}
		}
	}
	want := map[string]slack.Channel{
		general: {ID: general, Name: "general", Member: true},
		secret:  {ID: secret, Name: "secret", Member: true, Private: true},
		old:     {ID: old, Name: "old", Member: true, Archived: true},
		dm:      {ID: dm, Member: true, Private: true, Direct: true},
		group:   {ID: group, Name: "mpdm-alice--bob--myao-1", Member: true, Private: true},
	}
	if got := list(); !maps.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for id, ch := range want {
		if got, err := c.Channel(t.Context(), id); err != nil || got != ch {
			t.Errorf("one by one: got %+v, %v, want %+v", got, err, ch)
		}
	}

	w.Rename(general, "commons")
	w.SetPrivate(general, true)
	w.Rename(group, "commons")
	w.SetPrivate(group, false)
	w.Leave(group, bot)
	w.Deactivate(alice)
	w.Leave(secret, bot)
	want[general] = slack.Channel{ID: general, Name: "commons", Member: true, Private: true}
	want[dm] = slack.Channel{ID: dm, Member: true, Private: true, Direct: true, Archived: true}
	delete(want, secret)
	if got := list(); !maps.Equal(got, want) {
		t.Errorf("later: got %+v, want %+v", got, want)
	}
}

func TestHistoryOfTheSandbox(t *testing.T) {
	t.Parallel()
	for _, forward := range []bool{false, true} {
		t.Run(fmt.Sprintf("oldest page first %v", forward), func(t *testing.T) {
			t.Parallel()
			w, c := standIn(t, workspace.Config{PageSize: 2, OldestPageFirst: forward})
			alice := w.AddUser("alice").ID
			general := w.AddChannel(workspace.Public, "general", alice, w.Bot().UserID)
			before := w.Say(general, alice, "before")
			root := w.Say(general, alice, "root")
			w.Say(general, alice, "reply", workspace.InThread(root))
			gone := w.Say(general, alice, "gone")
			under := w.Say(general, alice, "under", workspace.InThread(gone))
			w.Delete(general, gone)
			hook := w.SayAsApp(general, workspace.App{BotID: "B0HOOK", Name: "deploys"}, "deployed")
			shown := w.Say(general, alice, "shown", workspace.InThread(root), workspace.Broadcast())
			w.Rename(general, "commons")
			own, err := c.Identity(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			var said []string
			skipped, threads := 0, map[string]string{}
			for r := (slack.Range{Oldest: root}); ; {
				page, err := c.History(t.Context(), general, r, own)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range page.Messages {
					said = append(said, m.TS)
					if m.Channel != general || (m.ThreadTS != "") != (m.TS == shown) || m.ByBot() != (m.TS == hook) {
						t.Errorf("message %+v", m)
					}
				}
				skipped += page.Skipped
				maps.Copy(threads, page.Threads)
				if r.Cursor = page.Next; r.Cursor == "" {
					break
				}
			}
			slices.Sort(said)
			if want := []string{root, hook, shown}; !slices.Equal(said, want) || slices.Contains(said, before) || skipped != 2 {
				t.Errorf("said %v, want %v; %d skipped", said, want, skipped)
			}
			if want := map[string]string{root: shown, gone: under}; !maps.Equal(threads, want) {
				t.Errorf("threads %v, want %v", threads, want)
			}
			page, err := c.Replies(t.Context(), general, gone, slack.Range{}, own)
			if err != nil || len(page.Messages) != 1 || page.Skipped != 1 || !maps.Equal(page.Threads, map[string]string{gone: under}) {
				t.Errorf("replies under a deleted message: %+v, %v", page, err)
			}
			if m := page.Messages[0]; m.TS != under || m.ThreadTS != gone {
				t.Errorf("reply %+v", m)
			}
		})
	}
}
