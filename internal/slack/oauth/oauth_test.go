package oauth_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/language/words"
	"myao/internal/slack"
	"myao/internal/slack/oauth"
	"myao/test/testserver"
)

const (
	secret  = "client-secret-1"
	token   = "xoxe.xoxb-token-1"
	refresh = "xoxe-refresh-1"
	code    = "code-secret-1"
)

// install is Slack's answer for the workspace T1.
func install(changes ...func(map[string]any)) map[string]any {
	answer := map[string]any{
		"ok": true, "access_token": token, "token_type": "bot", "scope": "chat:write,app_mentions:read", "bot_user_id": "UBOT",
		"app_id": "A1", "team": map[string]any{"id": "T1", "name": "Acme"}, "enterprise": nil, "is_enterprise_install": false,
		"refresh_token": refresh, "expires_in": 43200, "authed_user": map[string]any{"id": "U1"},
	}
	for _, change := range changes {
		change(answer)
	}
	return answer
}

// wide changes the answer to one for the organisation E1.
func wide(answer map[string]any) {
	answer["team"], answer["is_enterprise_install"] = nil, true
	answer["enterprise"] = map[string]any{"id": "E1", "name": "Starship"}
}

func set(key string, value any) func(map[string]any) {
	return func(answer map[string]any) { answer[key] = value }
}

// world is a handler with a Slack behind it.
type world struct {
	*oauth.Handler
	t      *testing.T
	server *httptest.Server
	// answer is how Slack answers oauth.v2.access.
	answer func(http.ResponseWriter)
	now    time.Time
	log    bytes.Buffer

	mu     sync.Mutex
	calls  []url.Values // with their method
	stored []oauth.Grant
	asked  []string // who wanted to install the app
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, now: time.Unix(1700000000, 0).UTC()}
	w.answers(install())
	api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		method := strings.TrimPrefix(r.URL.Path, "/api/")
		r.PostForm.Set("method", method)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.calls = append(w.calls, r.PostForm)
		if method == "oauth.v2.access" {
			w.answer(rw)
		} else {
			_, _ = io.WriteString(rw, `{"ok":true,"revoked":true}`)
		}
	}))
	t.Cleanup(api.Close)
	mux := http.NewServeMux()
	w.server = httptest.NewTLSServer(mux)
	t.Cleanup(w.server.Close)
	w.Handler = &oauth.Handler{
		Client:    oauth.Client{ID: "1.2", Secret: secret, APIURL: api.URL + "/api", HTTPClient: &http.Client{Timeout: time.Hour}, Clock: func() time.Time { return w.now }},
		PublicURL: w.server.URL, Name: "myao", Scopes: []string{"app_mentions:read", "chat:write"},
		Allowed: func(_ context.Context, team, organisation string) (bool, error) {
			w.asked = append(w.asked, team+"/"+organisation)
			return true, nil
		},
		Store: func(_ context.Context, g oauth.Grant) error {
			w.stored = append(w.stored, g)
			return nil
		},
		Logger: slog.New(slog.NewTextHandler(&w.log, nil)),
	}
	w.Register(mux)
	return w
}

func (w *world) answers(answer map[string]any) {
	w.answer = func(rw http.ResponseWriter) { _ = json.NewEncoder(rw).Encode(answer) }
}

// page is an answer of the handler.
type page struct {
	status int
	header http.Header
	body   string
}

// browser keeps cookies and follows no redirects.
type browser struct {
	*http.Client
	w *world
}

func (w *world) browser() browser {
	jar, err := cookiejar.New(nil)
	testserver.Must(w.t, err)
	client := *w.server.Client()
	client.Jar = jar
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return browser{&client, w}
}

func (b browser) open(path string) page {
	b.w.t.Helper()
	resp, err := b.Get(b.w.server.URL + path)
	testserver.Must(b.w.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	testserver.Must(b.w.t, err)
	for _, leaked := range []string{secret, token, refresh, code} {
		if strings.Contains(string(body), leaked) || strings.Contains(b.w.log.String(), leaked) {
			b.w.t.Errorf("%s: %s is told by the page or the log:\n%s\n%s", path, leaked, body, b.w.log.String())
		}
	}
	if got := resp.Header; got.Get("Cache-Control") != "no-store" || got.Get("Referrer-Policy") != "no-referrer" {
		b.w.t.Errorf("%s: header %v", path, got)
	}
	return page{resp.StatusCode, resp.Header, string(body)}
}

// begin opens the address to install the app, and returns the state that Slack gets.
func (b browser) begin() (state string) {
	b.w.t.Helper()
	at, err := url.Parse(b.open("/slack/install").header.Get("Location"))
	testserver.Must(b.w.t, err)
	return at.Query().Get("state")
}

// back comes back from Slack.
func (b browser) back(state string) page {
	b.w.t.Helper()
	return b.open("/slack/oauth?" + url.Values{"code": {code}, "state": {state}}.Encode())
}

// untouched tests that Slack was not asked, and nothing stored.
func (w *world) untouched() {
	w.t.Helper()
	if len(w.calls) > 0 || len(w.stored) > 0 {
		w.t.Errorf("calls %v, stored %+v", w.calls, w.stored)
	}
}

func (w *world) must(p page, status int, texts ...string) {
	w.t.Helper()
	if p.status != status {
		w.t.Errorf("status %d, want %d:\n%s", p.status, status, p.body)
	}
	for _, text := range texts {
		if !strings.Contains(p.body, text) {
			w.t.Errorf("the page lacks %q:\n%s", text, p.body)
		}
	}
	if m := regexp.MustCompile(`(?is)<script|javascript:|\son\w+=|<iframe|src=`).FindString(p.body); m != "" {
		w.t.Errorf("the page has %q:\n%s", m, p.body)
	}
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(p.body)
	if style == nil {
		w.t.Fatalf("no page: %s", p.body)
	}
	sum := sha256.Sum256([]byte(style[1]))
	want := "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
	if got := p.header.Get("Content-Security-Policy"); got != want {
		w.t.Errorf("policy %q, want %q", got, want)
	}
}

func TestInstallation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browser()
	to := b.open("/slack/install")
	at, err := url.Parse(to.header.Get("Location"))
	testserver.Must(t, err)
	query := at.Query()
	state := query.Get("state")
	query.Del("state")
	redirect := w.server.URL + "/slack/oauth"
	want := url.Values{"client_id": {"1.2"}, "scope": {"app_mentions:read,chat:write"}, "redirect_uri": {redirect}}
	if at.Path != "/oauth/v2/authorize" || !reflect.DeepEqual(query, want) || len(state) < 64 || to.status != http.StatusFound {
		t.Errorf("%d to %s", to.status, at)
	}
	if got := to.header.Get("Set-Cookie"); !regexp.MustCompile(
		`^__Host-myao_install=\w{26}; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax$`).MatchString(got) {
		t.Errorf("cookie %q", got)
	}
	p := b.back(state)
	w.must(p, http.StatusOK, "myao is installed in Acme.", "/invite @myao", `<html lang="en">`)
	if strings.Contains(p.body, "scopes") || !strings.HasPrefix(p.header.Get("Set-Cookie"), "__Host-myao_install=; Path=/; Max-Age=0;") {
		t.Errorf("%v\n%s", p.header, p.body)
	}
	grant := oauth.Grant{Team: "T1", TeamName: "Acme", App: "A1", BotUser: "UBOT", Token: token, RefreshToken: refresh,
		Expires: w.now.Add(12 * time.Hour), Scopes: []string{"app_mentions:read", "chat:write"}, InstalledBy: "U1"}
	if len(w.stored) != 1 || !reflect.DeepEqual(w.stored[0], grant) {
		t.Errorf("stored %+v, want %+v", w.stored, grant)
	}
	call := url.Values{"method": {"oauth.v2.access"}, "client_id": {"1.2"}, "client_secret": {secret}, "code": {code},
		"redirect_uri": {redirect}}
	if len(w.calls) != 1 || !reflect.DeepEqual(w.calls[0], call) {
		t.Errorf("calls %v", w.calls)
	}
	w.must(b.back(state), http.StatusConflict, "This installation is over already.") // loaded again
	if len(w.calls) != 1 || len(w.stored) != 1 {
		t.Errorf("calls %v", w.calls)
	}
}

// A state counts once, within ten minutes, in the browser for which this server made it. Otherwise Slack is
// not asked.
func TestForeignStates(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		state  func(w *world, b browser) string
		status int
		says   string
	}{
		{"none", func(*world, browser) string { return "" }, 400, "did not begin here"},
		{"none of ours", func(*world, browser) string { return "state" }, 400, "did not begin here"},
		{"cut short", func(_ *world, b browser) string { return b.begin()[:60] }, 400, "did not begin here"},
		{"another browser's", func(w *world, b browser) string {
			b.begin()
			return w.browser().begin()
		}, 403, "another browser"},
		{"without a cookie", func(w *world, _ browser) string { return w.browser().begin() }, 403, "another browser"},
		{"signed with another secret", func(w *world, b browser) string {
			w.Client.Secret = "another"
			state := b.begin()
			w.Client.Secret = secret
			return state
		}, 403, "another browser"},
		{"altered", func(_ *world, b browser) string {
			state := []byte(b.begin())
			state[0] = map[bool]byte{true: 'B', false: 'A'}[state[0] == 'A']
			return string(state)
		}, 403, "another browser"},
		{"with a later time", func(w *world, b browser) string {
			raw, err := base64.RawURLEncoding.DecodeString(b.begin())
			testserver.Must(w.t, err)
			raw[23]++
			return base64.RawURLEncoding.EncodeToString(raw)
		}, 403, "another browser"},
		{"eleven minutes old", func(w *world, b browser) string {
			state := b.begin()
			w.now = w.now.Add(11 * time.Minute)
			return state
		}, 400, "too long"},
		{"of the future", func(w *world, b browser) string {
			state := b.begin()
			w.now = w.now.Add(-2 * time.Minute)
			return state
		}, 400, "too long"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b := w.browser()
			w.must(b.back(tc.state(w, b)), tc.status, tc.says, "/slack/install")
			w.untouched()
		})
	}
}

// Whoever kept the cookie cannot use a state twice, not even at the same time.
func TestReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browser()
	state := b.begin()
	at, err := url.Parse(w.server.URL)
	testserver.Must(t, err)
	cookie := b.Jar.Cookies(at)[0]
	var all sync.WaitGroup
	status := make([]int, 5)
	for i := range status {
		all.Go(func() {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+"/slack/oauth?code="+code+"&state="+state, nil)
			req.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
			resp, err := w.server.Client().Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			status[i] = resp.StatusCode
		})
	}
	all.Wait()
	slices.Sort(status)
	if !slices.Equal(status, []int{200, 409, 409, 409, 409}) || len(w.calls) != 1 || len(w.stored) != 1 {
		t.Errorf("status %v, calls %v", status, w.calls)
	}
}

// Of two tabs the newer goes on, even after the older came back.
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browser()
	older, newer := b.begin(), b.begin()
	w.must(b.back(older), http.StatusForbidden, "a newer one has begun in this one")
	w.untouched()
	w.must(b.back(newer), http.StatusOK, "is installed")
}

// HEAD has no effect, and the state still serves.
func TestHead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browser()
	state := b.begin()
	resp, err := b.Head(w.server.URL + "/slack/oauth?code=" + code + "&state=" + state)
	testserver.Must(t, err)
	_ = resp.Body.Close()
	w.untouched()
	w.must(b.back(state), http.StatusOK, "is installed")
}

func TestNotAllowed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name         string
		answer       map[string]any
		asked, shows string
	}{
		{"a workspace", install(), "T1/", "Acme"},
		{"a workspace of an organisation", install(set("enterprise", map[string]any{"id": "E1"}), set("team", map[string]any{"id": "T1"})), "T1/E1", "T1"},
		{"an organisation", install(wide), "/E1", "Starship"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.answers(tc.answer)
			asked := ""
			w.Allowed = func(_ context.Context, team, organisation string) (bool, error) {
				asked = team + "/" + organisation
				return false, nil
			}
			b := w.browser()
			id := strings.Trim(tc.asked, "/")[:2]
			w.must(b.back(b.begin()), http.StatusForbidden, "myao may not be installed in "+tc.shows, "Ask whoever runs myao to allow "+id)
			if asked != tc.asked || len(w.stored) > 0 {
				t.Errorf("asked for %s, stored %+v", asked, w.stored)
			}
			if len(w.calls) != 2 || w.calls[1].Get("method") != "auth.revoke" || w.calls[1].Get("token") != token {
				t.Errorf("the token is not given back: %v", w.calls)
			}
		})
	}
}

func TestOrganisation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answers(install(wide))
	b := w.browser()
	w.must(b.back(b.begin()), http.StatusOK, "myao is installed in Starship.", "adds it to workspaces",
		`href="https://app.slack.com/manage/E1/integrations/profile/A1/workspaces/add"`)
	if g := w.stored[0]; !g.Org || g.ID() != "E1" || g.Team != "" || g.Enterprise != "E1" || !slices.Equal(w.asked, []string{"/E1"}) {
		t.Errorf("stored %+v, asked for %v", g, w.asked)
	}
}

func TestMissingScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Scopes = append(w.Scopes, "files:read", "reactions:write")
	b := w.browser()
	w.must(b.back(b.begin()), http.StatusOK, "Slack has not granted everything", "<code>files:read</code>", "<code>reactions:write</code>")
	if len(w.stored) != 1 {
		t.Error("it is not stored")
	}
}

// What people call their workspace is text.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "javascript:alert(1)", "</style><script>", "%s%!d"} {
		w := newWorld(t)
		w.answers(install(set("team", map[string]any{"id": "T1", "name": hostile})))
		b := w.browser()
		p := b.back(b.begin())
		if p.status != http.StatusOK || len(w.stored) != 1 || w.stored[0].TeamName != hostile {
			t.Errorf("%s: status %d, stored %+v", hostile, p.status, w.stored)
		}
		if regexp.MustCompile(`<script|<img|href="javascript`).MatchString(p.body) || strings.Count(p.body, "</style>") != 1 {
			t.Errorf("%s:\n%s", hostile, p.body)
		}
	}
}

func TestSlackFails(t *testing.T) {
	t.Parallel()
	says := func(status int, body string) func(http.ResponseWriter) {
		return func(rw http.ResponseWriter) {
			rw.WriteHeader(status)
			_, _ = io.WriteString(rw, body)
		}
	}
	refuses := func(code string) func(http.ResponseWriter) { return says(200, `{"ok":false,"error":"`+code+`"}`) }
	answers := func(changes ...func(map[string]any)) func(http.ResponseWriter) {
		return func(rw http.ResponseWriter) { _ = json.NewEncoder(rw).Encode(install(changes...)) }
	}
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter)
		status int
		says   string
	}{
		"500":                        {says(500, "<html>"+token), 503, "in a minute"},
		"429":                        {says(429, ""), 503, "in a minute"},
		"ratelimited":                {refuses("ratelimited"), 503, "in a minute"},
		"internal_error":             {refuses("internal_error"), 503, "in a minute"},
		"garbage":                    {says(200, "<html><script>"+token), 503, "in a minute"},
		"nothing":                    {says(200, `{"ok":true}`), 503, "in a minute"},
		"another shape":              {answers(set("team", token)), 503, "in a minute"},
		"no token":                   {answers(set("access_token", "")), 503, "in a minute"},
		"no team":                    {answers(set("team", nil)), 503, "in a minute"},
		"no organisation":            {answers(wide, set("enterprise", nil)), 503, "in a minute"},
		"no refresh token":           {answers(set("refresh_token", "")), 503, "in a minute"},
		"an id that is an address":   {answers(wide, set("enterprise", map[string]any{"id": "../../x"})), 503, "in a minute"},
		"a workspace that is markup": {answers(set("team", map[string]any{"id": "<b>"})), 503, "in a minute"},
		"an id that is two lines":    {answers(set("authed_user", map[string]any{"id": "U1\nlevel=INFO"})), 503, "in a minute"},
		"a code that served before":  {refuses("code_already_used"), 400, "does not take the code"},
		"another's code":             {refuses("invalid_code"), 400, "does not take the code"},
		"a wrong secret":             {refuses("bad_client_secret"), 502, "bad_client_secret"},
		"not distributed":            {refuses("invalid_team_for_non_distributed_app"), 502, "not distributed"},
		"a code that is markup":      {refuses("<script>"), 502, "unknown_error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.answer = tc.answer
			b := w.browser()
			w.must(b.back(b.begin()), tc.status, tc.says)
			if len(w.calls) != 1 || len(w.stored) > 0 {
				t.Errorf("calls %v, stored %+v", w.calls, w.stored)
			}
		})
	}
}

// Slack may send an error in place of a code.
func TestRefusedInSlack(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]struct {
		status int
		says   string
	}{
		"error=access_denied":                        {403, "You did not agree"},
		"error=invalid_team_for_non_distributed_app": {400, "not distributed"},
		"error=%3Cscript%3E":                         {400, "unknown_error"},
		"":                                           {400, "unknown_error"},
	} {
		w := newWorld(t)
		b := w.browser()
		w.must(b.open("/slack/oauth?"+query+"&state="+b.begin()), want.status, want.says)
		w.untouched()
	}
}

// While the database is away nothing is stored, and the token stays: the workspace may have installed the app before.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	away := errors.New("database: connection refused")
	for name, breaks := range map[string]func(*world){
		"who may is not known": func(w *world) {
			w.Allowed = func(context.Context, string, string) (bool, error) { return false, away }
		},
		"not stored": func(w *world) { w.Store = func(context.Context, oauth.Grant) error { return away } },
	} {
		w := newWorld(t)
		breaks(w)
		b := w.browser()
		p := b.back(b.begin())
		w.must(p, http.StatusServiceUnavailable, "could not be stored")
		if len(w.calls) != 1 || len(w.stored) > 0 || strings.Contains(p.body, "refused") || !strings.Contains(w.log.String(), "connection refused") {
			t.Errorf("%s: calls %v, log %s", name, w.calls, w.log.String())
		}
	}
}

// The installation goes on when nobody waits for the page.
func TestClosedTab(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browser()
	state := b.begin()
	ctx, closeTab := context.WithCancel(t.Context())
	w.Allowed = func(context.Context, string, string) (bool, error) {
		closeTab()
		return true, nil
	}
	store := w.Store
	w.Store = func(ctx context.Context, g oauth.Grant) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return store(ctx, g)
	}
	at, err := url.Parse(w.server.URL)
	testserver.Must(t, err)
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/slack/oauth?code="+code+"&state="+state, nil)
	req.AddCookie(b.Jar.Cookies(at)[0])
	w.server.Config.Handler.ServeHTTP(httptest.NewRecorder(), req)
	if len(w.stored) != 1 {
		t.Error("it is not stored")
	}
}

func TestInJapanese(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Language = chat.Japanese
	w.Scopes = append(w.Scopes, "files:read")
	b := w.browser()
	w.must(b.back(b.begin()), http.StatusOK, "Acme に myao をインストールしました。", "許可していないもの", `<html lang="ja">`)
	w.Allowed = func(context.Context, string, string) (bool, error) { return false, nil }
	w.must(b.back(b.begin()), http.StatusForbidden, "運用担当者に、T1 を")
	for _, sentence := range []string{"Begin again", "Nothing was installed.", "The installation has taken too long."} {
		if words.In(chat.Japanese)[sentence] == "" {
			t.Errorf("no Japanese for %q", sentence)
		}
	}
}

// On one's own machine there is no HTTPS, and no cookie that wants it.
func TestWithoutHTTPS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.PublicURL = "http://localhost:8080/"
	p := w.browser().open("/slack/install")
	if got := p.header.Get("Set-Cookie"); !strings.HasPrefix(got, "myao_install=") || strings.Contains(got, "Secure") {
		t.Errorf("cookie %q", got)
	}
	if !strings.Contains(p.header.Get("Location"), url.QueryEscape("http://localhost:8080/slack/oauth")) {
		t.Errorf("to %s", p.header.Get("Location"))
	}
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answers(install(set("access_token", "xoxe.xoxb-2"), set("refresh_token", "xoxe-2"), set("authed_user", nil)))
	g, err := w.Client.Refresh(t.Context(), refresh)
	if err != nil || g.Token != "xoxe.xoxb-2" || g.RefreshToken != "xoxe-2" || !g.Expires.Equal(w.now.Add(12*time.Hour)) || g.ID() != "T1" {
		t.Errorf("got %+v, %v", g, err)
	}
	call := url.Values{"method": {"oauth.v2.access"}, "client_id": {"1.2"}, "client_secret": {secret},
		"grant_type": {"refresh_token"}, "refresh_token": {refresh}}
	if len(w.calls) != 1 || !reflect.DeepEqual(w.calls[0], call) {
		t.Errorf("calls %v", w.calls)
	}
	for answer, want := range map[string]struct {
		kind slack.ErrorKind
		dead bool
	}{
		`{"ok":false,"error":"invalid_refresh_token"}`: {slack.Final, true},
		`{"ok":false,"error":"token_revoked"}`:         {slack.Final, true},
		`{"ok":false,"error":"token_expired"}`:         {slack.Final, true},
		`{"ok":false,"error":"account_inactive"}`:      {slack.Final, true},
		`{"ok":false,"error":"bad_client_secret"}`:     {slack.Final, false},
		`{"ok":false,"error":"ratelimited"}`:           {slack.RateLimited, false},
		`{"ok":false,"error":"internal_error"}`:        {slack.Ambiguous, false},
		`<html>` + refresh:                             {slack.Ambiguous, false},
		`{"ok":true,"access_token":"` + token + `"}`:   {slack.Ambiguous, false},
	} {
		w.answer = func(rw http.ResponseWriter) { _, _ = io.WriteString(rw, answer) }
		g, err := w.Client.Refresh(t.Context(), refresh)
		var e *slack.Error
		if !errors.As(err, &e) || e.Kind != want.kind || oauth.Dead(err) != want.dead || !reflect.DeepEqual(g, oauth.Grant{}) {
			t.Errorf("%s: %+v, %v; want %+v", answer, g, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), refresh) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), token)) {
			t.Errorf("the error tells a secret: %v", err)
		}
	}
	broken := w.Client
	broken.HTTPClient = &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		return nil, errors.New("not sent: " + string(body))
	})}
	if _, err := broken.Refresh(t.Context(), refresh); err == nil || strings.Contains(err.Error(), refresh) ||
		strings.Contains(err.Error(), secret) || oauth.Dead(err) {
		t.Errorf("got %v", err)
	}
}

type tripper func(r *http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
