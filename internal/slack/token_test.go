package slack_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/slack"
	"myao/sandbox/workspace"
)

func TestTokenInfo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		header http.Header
		scopes []string
		date   string
	}{
		{"as Slack writes it", http.Header{"X-Oauth-Scopes": {"chat:write,app_mentions:read"}, "Date": {"Tue, 14 Nov 2023 22:13:20 GMT"}},
			[]string{"app_mentions:read", "chat:write"}, "2023-11-14T22:13:20Z"},
		{"with blanks, twice, in two headers", http.Header{"X-Oauth-Scopes": {"b, a ,,", "a"}, "Date": {"Tue, 14 Nov 2023 22:13:20 GMT"}},
			[]string{"a", "b"}, "2023-11-14T22:13:20Z"},
		{"nothing sent", http.Header{"Date": nil}, nil, "0001-01-01T00:00:00Z"}, // nil keeps net/http from writing one
		{"an unreadable date", http.Header{"X-Oauth-Scopes": {""}, "Date": {"yesterday"}}, nil, "0001-01-01T00:00:00Z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for key, values := range tc.header {
					w.Header()[key] = values
				}
				_, _ = w.Write([]byte(`{"ok":true,"team_id":"T1","user_id":"U1"}`))
			}))
			defer server.Close()
			got, err := slack.New(slack.Config{Token: "xoxb-1", APIURL: server.URL, HTTPClient: patient}).TokenInfo(t.Context())
			if err != nil || !slices.Equal(got.Scopes, tc.scopes) || got.Date.Format(time.RFC3339) != tc.date {
				t.Errorf("%+v, %v; want %v at %s", got, err, tc.scopes, tc.date)
			}
		})
	}
}

func TestTokenInfoOfTheSandbox(t *testing.T) {
	t.Parallel()
	_, c := standIn(t, workspace.Config{Scopes: []string{"chat:write", "channels:read"}})
	got, err := c.TokenInfo(t.Context())
	if want := []string{"channels:read", "chat:write"}; err != nil || !slices.Equal(got.Scopes, want) || time.Since(got.Date).Abs() > time.Minute {
		t.Errorf("%+v, %v; want %v, now", got, err, want)
	}
	_, c = standIn(t, workspace.Config{BotToken: "xoxb-other", Scopes: []string{"chat:write"}})
	var refused *slack.Error
	if got, err := c.TokenInfo(t.Context()); !errors.As(err, &refused) || refused.Code != "invalid_auth" || got.Scopes != nil {
		t.Errorf("with a wrong token: %+v, %v", got, err)
	}
}

func TestSocketCheck(t *testing.T) {
	t.Parallel()
	w := workspace.New(workspace.Config{AppToken: "xapp-1"})
	var served sync.WaitGroup // the requests under way; an open WebSocket counts as one
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		served.Add(1)
		defer served.Done()
		w.Handler().ServeHTTP(rw, r)
	}))
	t.Cleanup(func() { server.Close(); w.Close() })
	try := func(token, url string) (int, error) {
		return slack.NewSocket(slack.SocketConfig{AppToken: token, APIURL: url + "/api/", HTTPClient: patient}).Check(t.Context())
	}
	for range 2 { // it does not stay open
		if n, err := try("xapp-1", server.URL); err != nil || n != 1 {
			t.Errorf("with the right token: %d connections, %v", n, err)
		}
		served.Wait() // until Slack has noticed the end of the connection
	}
	if n := len(w.Calls("apps.connections.open")); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
	var refused *slack.Error
	if _, err := try("xapp-2", server.URL); !errors.As(err, &refused) || refused.Code != "invalid_auth" || strings.Contains(err.Error(), "xapp-2") {
		t.Errorf("with a wrong token: %v", err)
	}
	if _, err := try("xapp-1", "http://127.0.0.1:1"); !errors.As(err, &refused) || refused.Code != "connection_failed" {
		t.Errorf("with nobody there: %v", err)
	}
}

func TestSign(t *testing.T) {
	t.Parallel()
	now, body := time.Unix(1700000000, 0), []byte(`{"type":"url_verification"}`)
	if err := slack.Verify(slack.Sign(body, "shh", now), body, "shh", now); err != nil {
		t.Errorf("its own signature: %v", err)
	}
	if err := slack.Verify(slack.Sign(body, "hush", now), body, "shh", now); !errors.Is(err, slack.ErrForged) {
		t.Errorf("another secret: %v", err)
	}
}
