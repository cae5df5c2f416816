package workspace

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"html/template"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// accessMethod exchanges codes and refresh tokens (docs.slack.dev/reference/methods/oauth.v2.access).
const accessMethod = "oauth.v2.access"

// SlackConfig describes an app that people install by OAuth.
type SlackConfig struct {
	// ClientID and ClientSecret are those of the app; 1.2 and client-secret if empty.
	ClientID, ClientSecret string
	// Lifetime is how long a token is valid; 0: it does not expire, and there are no refresh tokens. Slack: 12 hours
	// (docs.slack.dev/authentication/using-token-rotation).
	Lifetime time.Duration
	// Grace is how long a refresh token serves again after its first use; 0: it serves once. Slack has a short one.
	Grace time.Duration
}

// Slack is an app in several workspaces behind one address. A call of the Web API goes to the workspace whose token
// it has. All events go over the sockets of the app, or to the addresses of their workspaces. Ids of people and
// channels are the same in each workspace, as far as the same happens there.
type Slack struct {
	cfg SlackConfig

	mu         sync.Mutex
	workspaces []*Workspace
	codes      map[string]consent    // that were not exchanged
	refresh    map[string]*Workspace // by refresh tokens that serve
	used       map[string]time.Time  // when they were first exchanged
}

// consent is what somebody has agreed to.
type consent struct {
	workspace          *Workspace
	scope, redirectURI string
}

// botToken is a token that the app got for an installation.
type botToken struct {
	ends    time.Time // zero: never
	revoked bool
}

// NewSlack makes an app that is in no workspace.
func NewSlack(cfg SlackConfig) *Slack {
	setDefault(&cfg.ClientID, "1.2")
	setDefault(&cfg.ClientSecret, "client-secret")
	return &Slack{cfg: cfg, codes: map[string]consent{}, refresh: map[string]*Workspace{},
		used: map[string]time.Time{}}
}

// Add builds a workspace. Without a BotToken the app is not installed there: nothing is delivered until somebody
// installs it. All workspaces must have the same AppToken.
func (a *Slack) Add(cfg Config) *Workspace {
	installed := cfg.BotToken != ""
	setDefault(&cfg.BotToken, "xoxb-"+rand.Text()) // which nobody knows
	w := New(cfg)
	w.slack, w.uninstalled, w.tokens, w.serve = a, !installed, map[string]*botToken{}, w.Handler()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.workspaces) > 0 {
		w.socket = a.workspaces[0].socket
	}
	a.workspaces = append(a.workspaces, w)
	return w
}

// Handler serves what Workspace.Handler serves, for all workspaces; the page is that of the first. GET
// /oauth/v2/authorize is the page on which people agree to the installation.
func (a *Slack) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/", a.serveAPI)
	mux.HandleFunc("GET "+filePaths, func(rw http.ResponseWriter, r *http.Request) {
		team, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, filePaths), "-")
		a.of(team).serve.ServeHTTP(rw, r)
	})
	mux.HandleFunc("/commands/", func(rw http.ResponseWriter, r *http.Request) {
		team, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/commands/"), "/")
		a.of(team).serve.ServeHTTP(rw, r)
	})
	mux.Handle("GET /oauth/v2/authorize", requireLocal(http.HandlerFunc(a.authorize)))
	mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) { a.of("").serve.ServeHTTP(rw, r) })
	return mux
}

// of returns a workspace by its id, or the first one.
func (a *Slack) of(team string) *Workspace {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.workspaces {
		if w.cfg.Team == team {
			return w
		}
	}
	return a.workspaces[0]
}

// serveAPI finds the workspace of a call: by its token, or by what it wants to exchange.
func (a *Slack) serveAPI(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	again := r.Clone(r.Context())
	r.Body, again.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
	args, token, _ := arguments(r)
	a.mu.Lock()
	w := a.workspaces[0]
	if agreed, ok := a.codes[args.Get("code")]; ok {
		w = agreed.workspace
	} else if rotates, ok := a.refresh[args.Get("refresh_token")]; ok {
		w = rotates
	}
	all := slices.Clone(a.workspaces)
	a.mu.Unlock()
	if at := slices.IndexFunc(all, func(w *Workspace) bool { return w.knows(token) }); at >= 0 {
		w = all[at]
	}
	w.serve.ServeHTTP(rw, again)
}

// knows reports whether a token is, or was, one of the workspace.
func (w *Workspace) knows(token string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return token == w.cfg.BotToken || w.tokens[token] != nil
}

// Agree has somebody agree to install the app in a workspace, and returns the code that the browser brings back.
func (a *Slack) Agree(w *Workspace, scope, redirectURI string) (code string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	code = rand.Text()
	a.codes[code] = consent{w, scope, redirectURI}
	return code
}

// access exchanges a code or a refresh token. Each serves once.
func (c *call) access() (reply, error) {
	a := c.slack
	if a == nil {
		return nil, apiError("unknown_method")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case c.Get("client_id") != a.cfg.ClientID:
		return nil, apiError("invalid_client_id")
	case subtle.ConstantTimeCompare([]byte(c.Get("client_secret")), []byte(a.cfg.ClientSecret)) == 0:
		return nil, apiError("bad_client_secret")
	case c.Get("grant_type") == "refresh_token":
		token, now := c.Get("refresh_token"), c.cfg.Clock()
		used, again := a.used[token]
		if a.refresh[token] != c.Workspace || c.uninstalled || again && now.Sub(used) >= a.cfg.Grace {
			return nil, apiError("invalid_refresh_token")
		}
		if !again {
			a.used[token] = now
		}
		return c.grant(), nil
	}
	agreed, ok := a.codes[c.Get("code")]
	if !ok || agreed.workspace != c.Workspace {
		return nil, apiError("invalid_code")
	}
	if agreed.redirectURI != c.Get("redirect_uri") {
		return nil, apiError("bad_redirect_uri")
	}
	delete(a.codes, c.Get("code"))
	if c.uninstalled { // what it had before is worth nothing
		clear(c.tokens)
		maps.DeleteFunc(a.refresh, func(_ string, w *Workspace) bool { return w == c.Workspace })
	}
	c.uninstalled, c.scope = false, agreed.scope
	granted := c.grant()
	granted["authed_user"] = reply{"id": c.installer()}
	return granted, nil
}

// installer is a person of the workspace.
func (w *Workspace) installer() string {
	for _, u := range w.users {
		if !u.Bot {
			return u.ID
		}
	}
	return w.bot.UserID
}

// grant makes a token. The older ones stay valid until they end. Callers hold both locks.
func (c *call) grant() reply {
	token := &botToken{}
	answer := reply{
		"access_token": "xoxb-" + rand.Text(), "token_type": "bot", "scope": c.scope, "bot_user_id": c.bot.UserID,
		"app_id": c.bot.AppID, "team": reply{"id": c.cfg.Team, "name": "Sandbox " + c.cfg.Team}, "enterprise": nil,
		"is_enterprise_install": false,
	}
	if lifetime := c.slack.cfg.Lifetime; lifetime > 0 {
		token.ends = c.cfg.Clock().Add(lifetime)
		refresh := "xoxe-1-" + rand.Text()
		c.slack.refresh[refresh] = c.Workspace
		answer["access_token"] = "xoxe." + answer["access_token"].(string)
		answer["refresh_token"], answer["expires_in"] = refresh, int(lifetime.Seconds())
	}
	c.tokens[answer["access_token"].(string)] = token
	return answer
}

// authRevoke gives the caller's token back (docs.slack.dev/reference/methods/auth.revoke).
func (c *call) authRevoke() (reply, error) {
	given := c.tokens[c.token]
	if given == nil {
		return nil, apiError("unknown_method") // the token of the configuration, which nobody gives back
	}
	given.revoked = true
	return reply{"revoked": true}, nil
}

// refuses says why a token does not count; "" if it does. Callers hold mu.
func (w *Workspace) refuses(token string) string {
	given := w.tokens[token]
	switch {
	case token == "":
		return "not_authed"
	case token != w.cfg.BotToken && given == nil:
		return "invalid_auth"
	case w.uninstalled:
		return "account_inactive"
	case given != nil && given.revoked:
		return "token_revoked"
	case given != nil && !given.ends.IsZero() && !w.cfg.Clock().Before(given.ends):
		return "token_expired"
	}
	return ""
}

var consentTemplate = template.Must(template.New("consent").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Install the app</title></head><body><main>
<h1>Where do you want to install the app?</h1>
<p>It asks for: {{.Scope}}</p>
<ul>{{range .Workspaces}}<li><a href="{{.Link}}">Allow in {{.Team}}</a></li>
{{end}}</ul><p><a href="{{.Cancel}}">Cancel</a></p>
</main></body></html>
`))

// authorize shows the page on which people agree, or sends the browser back with a code
// (docs.slack.dev/authentication/installing-with-oauth).
func (a *Slack) authorize(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	query := r.URL.Query()
	back, err := url.Parse(query.Get("redirect_uri"))
	if err != nil || back.Host == "" || query.Get("client_id") != a.cfg.ClientID {
		http.Error(rw, "invalid client_id or redirect_uri", http.StatusBadRequest)
		return
	}
	back.RawQuery = ""
	answer := func(key, value string) string {
		to := *back
		to.RawQuery = url.Values{key: {value}, "state": {query.Get("state")}}.Encode()
		return to.String()
	}
	if team := query.Get("team"); team != "" {
		w := a.of(team)
		http.Redirect(rw, r, answer("code", a.Agree(w, query.Get("scope"), query.Get("redirect_uri"))), http.StatusFound)
		return
	}
	type choice struct{ Team, Link string }
	page := struct {
		Scope, Cancel string
		Workspaces    []choice
	}{Scope: query.Get("scope"), Cancel: answer("error", "access_denied")}
	a.mu.Lock()
	for _, w := range a.workspaces {
		query.Set("team", w.cfg.Team)
		page.Workspaces = append(page.Workspaces, choice{w.cfg.Team, r.URL.Path + "?" + query.Encode()})
	}
	a.mu.Unlock()
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = consentTemplate.Execute(rw, page)
}
