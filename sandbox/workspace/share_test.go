package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"myao/internal/slack"
	"myao/sandbox/workspace"
	"myao/test/testserver"
)

// A channel of two workspaces has the same messages in both. Its events come once for each, or once for both.
func TestSharedChannel(t *testing.T) {
	t.Parallel()
	for once, want := range map[bool]map[string]int{
		false: {"T1 message": 2, "T2 message": 2, "T1 app_mention": 1},
		true:  {"T2 message": 2, "T2 app_mention": 1},
	} {
		app := workspace.NewSlack(workspace.SlackConfig{OwnIDs: true, OneDelivery: once})
		add := func(team string) *workspace.Workspace {
			w := app.Add(workspace.Config{Team: team, BotToken: "xoxb-" + team, SocketMode: true,
				AckTimeout: time.Hour,                                                    // or an event comes again
				RetryAfter: slices.Repeat([]time.Duration{10 * time.Millisecond}, 6000)}) // until the socket is open
			t.Cleanup(w.Close)
			return w
		}
		first, second := add("T1"), add("T2")
		server := httptest.NewServer(app.Handler())
		t.Cleanup(server.Close)
		alice, carol := first.AddUser("alice"), second.AddUser("carol")
		channel := first.AddChannel(workspace.Public, "general", first.Bot().UserID, alice.ID)
		first.Share(channel, second, second.Bot().UserID, carol.ID)
		first.Say(channel, alice.ID, "<@"+first.Bot().UserID+"> hello")
		second.Say(channel, carol.ID, "hello, too")

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		socket := slack.NewSocket(slack.SocketConfig{AppToken: "xapp-sandbox", APIURL: server.URL + "/api/", HTTPClient: patient})
		left := 0
		for _, n := range want {
			left += n
		}
		got := map[string]int{}
		testserver.Must(t, socket.Listen(ctx, func(ctx context.Context, d slack.Delivery) (json.RawMessage, error) {
			env, err := slack.ParseEnvelope(d.Body)
			testserver.Must(t, err)
			team, _ := env.Authorization()
			got[team+" "+env.EventType]++
			id, about := env.Shared()
			all, err := socket.Authorizations(ctx, about)
			if want := []slack.Authorization{{Team: "T1"}, {Team: "T2"}}; err != nil || id != channel || fmt.Sprint(all) != fmt.Sprint(want) {
				t.Errorf("%s is for %v, %v; want %v", id, all, err, want)
			}
			if left--; left == 0 {
				cancel()
			}
			return nil, nil
		}))
		if !maps.Equal(got, want) || len(second.Messages(channel)) != 2 {
			t.Errorf("once %v: heard %v, want %v", once, got, want)
		}
	}
}
