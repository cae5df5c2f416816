package workspace_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/slack"
	"myao/internal/slack/oauth"
	"myao/sandbox/workspace"
	"myao/test/testserver"
)

const callback = "http://127.0.0.1:1/slack/oauth"

// patient waits for an answer longer than a machine stalls.
var patient = &http.Client{Timeout: time.Hour}

// appInTwo is an app and two workspaces. Nobody has installed it yet. In both workspaces alice is in general.
type appInTwo struct {
	*workspace.Slack
	t              *testing.T
	first          *workspace.Workspace
	second         *workspace.Workspace
	alice, general string // in both
	url            string
	oauth          oauth.Client
	mu             sync.Mutex
	now            time.Time
}

func newApp(t *testing.T, lifetime time.Duration) *appInTwo {
	t.Helper()
	a := &appInTwo{t: t, Slack: workspace.NewSlack(workspace.SlackConfig{Lifetime: lifetime}), now: time.Now()}
	for i, w := range []**workspace.Workspace{&a.first, &a.second} {
		*w = a.Add(workspace.Config{Team: []string{"T1", "T2"}[i], Name: []string{"One", "Two"}[i], SocketMode: true,
			Clock: a.clock, AckTimeout: time.Hour, // or an event comes again
			RetryAfter: slices.Repeat([]time.Duration{10 * time.Millisecond}, 6000)}) // until the socket is open
		t.Cleanup((*w).Close)
		a.alice = (*w).AddUser("alice").ID
		if id := (*w).AddChannel(workspace.Public, "general", (*w).Bot().UserID, a.alice); i > 0 && id != a.general {
			t.Errorf("the channel is %s, not %s", id, a.general)
		} else {
			a.general = id
		}
	}
	server := httptest.NewServer(a.Handler())
	t.Cleanup(server.Close)
	a.url = server.URL
	a.oauth = oauth.Client{ID: "1.2", Secret: "client-secret", APIURL: server.URL + "/api/", Clock: a.clock,
		HTTPClient: patient}
	return a
}

func (a *appInTwo) clock() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now
}

func (a *appInTwo) install(w *workspace.Workspace) oauth.Grant {
	a.t.Helper()
	g, err := a.oauth.Exchange(a.t.Context(), a.Agree(w, "chat:write", callback), callback)
	testserver.Must(a.t, err)
	return g
}

func (a *appInTwo) client(token string) *slack.Client {
	return slack.New(slack.Config{Token: token, APIURL: a.url + "/api/", HTTPClient: patient})
}

// refused tests that a token does not count, by Slack's code.
func (a *appInTwo) refused(token, code string) {
	a.t.Helper()
	a.code(a.client(token).Test(a.t.Context()), code)
}

func (a *appInTwo) code(err error, code string) {
	a.t.Helper()
	if e, _ := errors.AsType[*slack.Error](err); code == "" && err != nil || code != "" && (e == nil || e.Code != code) {
		a.t.Errorf("%v, want %q", err, code)
	}
}

// Each workspace has its token, and hears of nothing that happens in the other under the same ids.
func TestAppInTwoWorkspaces(t *testing.T) {
	t.Parallel()
	a := newApp(t, 0)
	a.first.Say("general", a.alice, "before the app is here")
	tokens := []string{a.install(a.first).Token, a.install(a.second).Token}
	for i, team := range []string{"T1", "T2"} {
		if id, err := a.client(tokens[i]).Identity(t.Context()); err != nil || id.TeamID != team {
			t.Errorf("%+v, %v; want %s", id, err, team)
		}
	}
	_, err := a.client(tokens[1]).Post(t.Context(), slack.Post{Channel: a.general, Text: "hello", Key: "k"})
	testserver.Must(t, err)
	if len(a.first.Posts()) != 0 || len(a.second.Posts()) != 1 {
		t.Errorf("posted %v and %v", a.first.Posts(), a.second.Posts())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var heard []string
	socket := slack.NewSocket(slack.SocketConfig{AppToken: "xapp-sandbox", APIURL: a.url + "/api/"})
	a.first.Say("general", a.alice, "one")
	a.second.Say("general", a.alice, "two")
	_ = socket.Listen(ctx, func(_ context.Context, d slack.Delivery) (json.RawMessage, error) {
		env, err := slack.ParseEnvelope(d.Body)
		testserver.Must(t, err)
		team, _ := env.Authorization()
		event, err := slack.Decode(env, slack.Identity{TeamID: team, UserID: "U0BOT", BotID: "B0BOT"})
		if m, ok := event.(slack.MessageEvent); ok && m.Kind == slack.Posted && err == nil {
			heard = append(heard, team+": "+m.Message.Text)
		}
		if len(heard) == 3 {
			cancel()
		}
		return nil, nil
	})
	if slices.Sort(heard); !slices.Equal(heard, []string{"T1: one", "T2: hello", "T2: two"}) {
		t.Errorf("heard %q", heard)
	}
}

func TestConsent(t *testing.T) {
	t.Parallel()
	a := newApp(t, 0)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(address string) (page string, back *url.URL) {
		resp, err := client.Get(address)
		testserver.Must(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		testserver.Must(t, err)
		back, _ = resp.Location()
		return string(body), back
	}
	authorize := a.url + "/oauth/v2/authorize?" + url.Values{"client_id": {"1.2"}, "scope": {"chat:write"},
		"redirect_uri": {callback}, "state": {"s&1"}}.Encode()
	if page, _ := get(authorize); !strings.Contains(page, "Install myao in One?") {
		t.Errorf("the page is not about the first that lacks the app: %s", page)
	}
	page, _ := get(authorize + "&team=T2")
	if !strings.Contains(page, "Install myao in Two?") || !strings.Contains(page, "chat:write") {
		t.Errorf("page %s", page)
	}
	links := regexp.MustCompile(`href="([^"]*)">(Allow|Cancel)`).FindAllStringSubmatch(page, -1)
	if len(links) != 2 {
		t.Fatalf("page %s", page)
	}
	if at := strings.ReplaceAll(links[1][1], "&amp;", "&"); at != callback+"?error=access_denied&state=s%261" {
		t.Errorf("cancel leads to %s", at)
	}
	_, back := get(a.url + strings.ReplaceAll(links[0][1], "&amp;", "&"))
	if back == nil || back.Query().Get("state") != "s&1" {
		t.Fatalf("back to %v", back)
	}
	code := back.Query().Get("code")
	wrong := a.oauth
	wrong.Secret = "another"
	_, err := wrong.Exchange(t.Context(), code, callback)
	a.code(err, "bad_client_secret")
	_, err = a.oauth.Exchange(t.Context(), code, "https://example.com/")
	a.code(err, "bad_redirect_uri")
	if g, err := a.oauth.Exchange(t.Context(), code, callback); err != nil || g.Team != "T2" || !g.Expires.IsZero() ||
		!slices.Equal(g.Scopes, []string{"chat:write"}) {
		t.Errorf("%+v, %v", g, err)
	}
	_, err = a.oauth.Exchange(t.Context(), code, callback)
	a.code(err, "invalid_code")
}

func TestTokensOfAnApp(t *testing.T) {
	t.Parallel()
	a := newApp(t, 12*time.Hour)
	old := a.install(a.first)
	g, err := a.oauth.Refresh(t.Context(), old.RefreshToken)
	testserver.Must(t, err)
	_, err = a.oauth.Refresh(t.Context(), old.RefreshToken)
	a.code(err, "invalid_refresh_token")
	a.refused(old.Token, "")
	a.refused(g.Token, "")
	a.refused("xoxb-sandbox", "invalid_auth")
	a.mu.Lock()
	a.now = a.now.Add(12 * time.Hour)
	a.mu.Unlock()
	a.refused(g.Token, "token_expired")
	g, err = a.oauth.Refresh(t.Context(), g.RefreshToken)
	testserver.Must(t, err)
	a.refused(g.Token, "")
	a.first.Uninstall()
	a.refused(g.Token, "account_inactive")
	_, err = a.oauth.Refresh(t.Context(), g.RefreshToken)
	a.code(err, "invalid_refresh_token")
	again := a.install(a.first)
	a.refused(g.Token, "invalid_auth")
	_, err = a.oauth.Refresh(t.Context(), g.RefreshToken)
	a.code(err, "invalid_refresh_token")
	testserver.Must(t, a.oauth.Revoke(t.Context(), again.Token))
	a.refused(again.Token, "token_revoked")
}

// One token serves the workspaces that an organisation grants it to.
func TestOrganisation(t *testing.T) {
	t.Parallel()
	a, ctx := newApp(t, 0), t.Context()
	org := a.AddOrganisation("E1", a.first, a.second)
	g, err := a.oauth.Exchange(ctx, org.Agree("chat:write", callback), callback)
	if err != nil || !g.Org || g.ID() != "E1" || g.Team != "" {
		t.Fatalf("%+v, %v", g, err)
	}
	in := func(team string) *slack.Client {
		return slack.New(slack.Config{Token: g.Token, APIURL: a.url + "/api/", TeamID: team, HTTPClient: patient})
	}
	list := func(team, code string) {
		t.Helper()
		_, err := in(team).Conversations(ctx, "")
		a.code(err, code)
	}
	granted := func(want ...string) {
		t.Helper()
		names, _, err := in("").TeamNames(ctx, "")
		if got := slices.Sorted(maps.Keys(names)); err != nil || !slices.Equal(got, want) {
			t.Errorf("granted to %q, %v; want %q", got, err, want)
		}
	}
	if own, err := in("").Identity(ctx); err != nil || own.TeamID != "E1" || own.OrgID != "E1" {
		t.Errorf("%+v, %v", own, err)
	}
	granted()
	list("T2", "team_access_not_granted")
	org.Grant(a.second)
	granted("T2")
	list("", "missing_argument")
	list("T2", "")
	list("T1", "team_access_not_granted")
	if _, err := in("T2").Channel(ctx, a.general); err != nil || len(a.second.Calls("conversations.info")) != 1 {
		t.Errorf("%v, by %d calls", err, len(a.second.Calls("conversations.info")))
	}
	own := a.install(a.second)
	if own.Org || own.Enterprise != "E1" {
		t.Errorf("%+v", own)
	}
	org.Withdraw(a.second)
	list("T2", "team_access_not_granted")
	a.refused(own.Token, "")
	org.Grant(a.second)
	org.Uninstall()
	list("T2", "account_inactive")
	a.refused(own.Token, "")
}

// The page of each workspace is at its own address, and shows and changes that one alone.
func TestPageOfEachWorkspace(t *testing.T) {
	t.Parallel()
	a := newApp(t, 0)
	a.install(a.first)
	state := func(path string) (s struct {
		Team      string `json:"team"`
		Installed bool   `json:"installed"`
	}) {
		t.Helper()
		resp, err := http.Get(a.url + path + "sandbox/state")
		testserver.Must(t, err)
		defer resp.Body.Close()
		testserver.Must(t, json.NewDecoder(resp.Body).Decode(&s))
		return s
	}
	post := func(path, action, body string) int {
		t.Helper()
		resp, err := http.Post(a.url+path+"sandbox/"+action, "application/json", strings.NewReader(body))
		testserver.Must(t, err)
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if at := state("/"); at.Team != "T1" || !at.Installed || at != state("/T1/") {
		t.Errorf("the first page is of %+v", at)
	}
	if at := state("/T2/"); at.Team != "T2" || at.Installed {
		t.Errorf("the second page is of %+v", at)
	}
	say := `{"channel":"` + a.general + `","user":"` + a.alice + `","text":"hi"}`
	if status := post("/T2/", "say", say); status != http.StatusNoContent || len(a.first.Messages(a.general)) != 0 ||
		len(a.second.Messages(a.general)) != 1 {
		t.Errorf("%d: said %v and %v", status, a.first.Messages(a.general), a.second.Messages(a.general))
	}
	if status := post("/T2/", "uninstall", "{}"); status != http.StatusUnprocessableEntity {
		t.Errorf("removed what is not there: %d", status)
	}
	if status := post("/T1/", "uninstall", "{}"); status != http.StatusNoContent || state("/").Installed {
		t.Errorf("removed: %d, %+v", status, state("/"))
	}
}
