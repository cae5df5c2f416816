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
	// InstallURL is where people begin to install the app; the page leads there.
	InstallURL string
	// Lifetime is how long a token is valid; 0: it does not expire, and there are no refresh tokens. Slack: 12 hours
	// (docs.slack.dev/authentication/using-token-rotation).
	Lifetime time.Duration
	// Grace is how long a refresh token serves again after its first use; 0: it serves once. Slack has a short one.
	Grace time.Duration
	// OwnIDs makes the ids of people, bots and channels differ between workspaces, of which there are then ten at most.
	OwnIDs bool
	// OneDelivery has an event of a channel that workspaces share delivered once, for the one that joined last: Slack
	// does either (docs.slack.dev/apis/events-api/#authorizations). Otherwise there is one for each.
	OneDelivery bool
}

// Slack is an app in several workspaces behind one address. A call of the Web API goes to the workspace whose token
// it has. All events go over the sockets of the app, or to the addresses of their workspaces. Without
// SlackConfig.OwnIDs, ids of people and channels are the same in each workspace, as far as the same happens there.
type Slack struct {
	cfg SlackConfig

	mu            sync.Mutex // may be taken while that of a workspace is held, not the other way round
	workspaces    []*Workspace
	organisations []*Organisation
	codes         map[string]consent   // that were not exchanged
	refresh       map[string]place     // by refresh tokens that serve
	used          map[string]time.Time // when they were first exchanged
}

// place is where the app is installed: a workspace, or the organisation that it belongs to.
type place struct {
	*Workspace
	of *Organisation
}

// installed is the app there.
func (p place) installed() *installation {
	if p.of != nil {
		return &p.of.installation
	}
	return &p.Workspace.installation
}

// consent is what somebody has agreed to.
type consent struct {
	place
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
	return &Slack{cfg: cfg, codes: map[string]consent{}, refresh: map[string]place{},
		used: map[string]time.Time{}}
}

// Add builds a workspace. Without a BotToken the app is not installed there: nothing is delivered until somebody
// installs it. All workspaces must have the same AppToken.
func (a *Slack) Add(cfg Config) *Workspace {
	installed := cfg.BotToken != ""
	setDefault(&cfg.BotToken, "xoxb-"+rand.Text()) // which nobody knows
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cfg.OwnIDs {
		cfg.number = len(a.workspaces)
	}
	w := New(cfg)
	w.slack, w.installation, w.serve = a, installation{!installed, map[string]*botToken{}, ""}, w.Handler()
	if len(a.workspaces) > 0 {
		w.socket, w.mu = a.workspaces[0].socket, a.workspaces[0].mu
	}
	a.workspaces = append(a.workspaces, w)
	return w
}

// Handler serves what Workspace.Handler serves, for the workspaces that were added: the page of each is at /TEAM/, that
// of the first at /, too. GET /oauth/v2/authorize is the page on which people agree to the installation.
func (a *Slack) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/", a.serveAPI)
	for _, files := range []string{filePaths, clipPaths} {
		mux.HandleFunc("GET "+files, func(rw http.ResponseWriter, r *http.Request) {
			team, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, files), "-")
			a.of(team).serve.ServeHTTP(rw, r)
		})
	}
	mux.Handle("GET /oauth/v2/authorize", requireLocal(http.HandlerFunc(a.authorize)))
	all := a.all()
	for _, w := range all {
		mux.Handle("/commands/"+w.cfg.Team+"/", w.serve)
		mux.Handle("/"+w.cfg.Team+"/", http.StripPrefix("/"+w.cfg.Team, w.serve))
	}
	mux.Handle("/", all[0].serve)
	return mux
}

func (a *Slack) all() []*Workspace {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.workspaces)
}

// pages are the workspaces, with the addresses of their pages.
func (a *Slack) pages() []workspacePage {
	all := []workspacePage{}
	for i, w := range a.all() {
		p := workspacePage{Team: w.cfg.Team, Name: w.cfg.Name, Path: "/" + w.cfg.Team + "/"}
		if i == 0 {
			p.Path = "/"
		}
		all = append(all, p)
	}
	return all
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
		w = agreed.Workspace
	} else if rotates, ok := a.refresh[args.Get("refresh_token")]; ok {
		w = rotates.Workspace
	}
	organisations := slices.Clone(a.organisations)
	a.mu.Unlock()
	all := a.all()
	if at := slices.IndexFunc(all, func(w *Workspace) bool { return w.knows(token) }); at >= 0 {
		w = all[at]
	} else if at := slices.IndexFunc(organisations, func(o *Organisation) bool { return o.owns(token) }); at >= 0 {
		w = organisations[at].route(args)
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
	return a.agree(place{Workspace: w}, scope, redirectURI)
}

func (a *Slack) agree(p place, scope, redirectURI string) (code string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	code = rand.Text()
	a.codes[code] = consent{p, scope, redirectURI}
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
		at := a.refresh[token]
		if at.Workspace != c.Workspace || at.installed().uninstalled || again && now.Sub(used) >= a.cfg.Grace {
			return nil, apiError("invalid_refresh_token")
		}
		if !again {
			a.used[token] = now
		}
		return c.grant(at), nil
	}
	agreed, ok := a.codes[c.Get("code")]
	if !ok || agreed.Workspace != c.Workspace {
		return nil, apiError("invalid_code")
	}
	if agreed.redirectURI != c.Get("redirect_uri") {
		return nil, apiError("bad_redirect_uri")
	}
	delete(a.codes, c.Get("code"))
	if agreed.installed().begin(agreed.scope) {
		if agreed.of == nil {
			c.cfg.BotToken = "xoxb-" + rand.Text()
		}
		maps.DeleteFunc(a.refresh, func(_ string, p place) bool { return p == agreed.place })
	}
	c.hub.send(change{Kind: "workspace"})
	granted := c.grant(agreed.place)
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
func (c *call) grant(p place) reply {
	token, in := &botToken{}, p.installed()
	answer := reply{
		"access_token": "xoxb-" + rand.Text(), "token_type": "bot", "scope": in.scope, "bot_user_id": c.bot.UserID,
		"app_id": c.bot.AppID, "team": reply{"id": c.cfg.Team, "name": c.cfg.Name},
		"enterprise": c.org.describe(), "is_enterprise_install": p.of != nil,
	}
	if p.of != nil {
		answer["team"] = nil
	}
	if lifetime := c.slack.cfg.Lifetime; lifetime > 0 {
		token.ends = c.cfg.Clock().Add(lifetime)
		refresh := "xoxe-1-" + rand.Text()
		c.slack.refresh[refresh] = p
		answer["access_token"] = "xoxe." + answer["access_token"].(string)
		answer["refresh_token"], answer["expires_in"] = refresh, int(lifetime.Seconds())
	}
	in.tokens[answer["access_token"].(string)] = token
	return answer
}

// authRevoke gives the caller's token back (docs.slack.dev/reference/methods/auth.revoke).
func (c *call) authRevoke() (reply, error) {
	given, _ := c.given(c.token)
	if given == nil {
		return nil, apiError("unknown_method") // the token of the configuration, which nobody gives back
	}
	given.revoked = true
	return reply{"revoked": true}, nil
}

// refuses says why a token does not count; "" if it does. Callers hold mu.
func (w *Workspace) refuses(token string) string {
	given, wide := w.given(token)
	gone, granted := w.uninstalled, true
	if wide {
		w.slack.mu.Lock()
		gone, granted = w.org.uninstalled, w.org.grants[w]
		w.slack.mu.Unlock()
	}
	switch {
	case token == "":
		return "not_authed"
	case token != w.cfg.BotToken && given == nil:
		return "invalid_auth"
	case gone:
		return "account_inactive"
	case given != nil && given.revoked:
		return "token_revoked"
	case given != nil && !given.ends.IsZero() && !w.cfg.Clock().Before(given.ends):
		return "token_expired"
	case !granted:
		return notGranted
	}
	return ""
}

var consentTemplate = template.Must(template.New("consent").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Install {{.App}} in {{.Name}}?</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/theme.css">
<link rel="stylesheet" href="/consent.css">
</head>
<body>
<main>
<h1>Install {{.App}} in {{.Name}}?</h1>
<p>This page stands in for Slack's. In the workspace {{.Name}} the app {{.App}} asks for:</p>
<ul>
{{range .Scopes}}<li><code>{{.}}</code></li>
{{end}}</ul>
<p class="choice"><a class="allow" href="{{.Allow}}">Allow</a> <a href="{{.Cancel}}">Cancel</a></p>
{{range .Others}}<p><a href="{{.Path}}">Choose {{.Name}} instead</a></p>
{{end}}</main>
</body>
</html>
`))

// consentPolicy lets the page of consent load style sheets alone.
const consentPolicy = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'"

// choice is where the app can be installed.
type choice struct {
	id, name string
	place
}

// choices are the workspaces, and then the organisations.
func (a *Slack) choices() (all []choice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.workspaces {
		all = append(all, choice{w.cfg.Team, w.cfg.Name, place{Workspace: w}})
	}
	for _, o := range a.organisations {
		all = append(all, choice{o.ID, o.Name, place{o.members[0], o}})
	}
	return all
}

// authorize shows the page on which people agree, or sends the browser back with a code
// (docs.slack.dev/authentication/installing-with-oauth). It is about the workspace or organisation that team
// names, or else about a workspace that lacks the app.
func (a *Slack) authorize(rw http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	back, err := url.Parse(query.Get("redirect_uri"))
	if err != nil || back.Host == "" || query.Get("client_id") != a.cfg.ClientID {
		http.Error(rw, "invalid client_id or redirect_uri", http.StatusBadRequest)
		return
	}
	choices := a.choices()
	at := choices[max(0, slices.IndexFunc(choices, func(c choice) bool {
		if query.Has("team") {
			return c.id == query.Get("team")
		}
		return c.of == nil && !c.hasApp()
	}))]
	answer := func(key, value string) string {
		to := *back
		to.RawQuery = url.Values{key: {value}, "state": {query.Get("state")}}.Encode()
		return to.String()
	}
	if query.Has("allow") {
		code := a.agree(at.place, query.Get("scope"), query.Get("redirect_uri"))
		http.Redirect(rw, r, answer("code", code), http.StatusFound)
		return
	}
	about := func(team string) string {
		query.Set("team", team)
		return r.URL.Path + "?" + query.Encode()
	}
	page := struct {
		App, Name, Allow, Cancel string
		Scopes                   []string
		Others                   []workspacePage
	}{App: at.bot.Name, Name: at.name, Allow: about(at.id) + "&allow=yes",
		Cancel: answer("error", "access_denied"), Scopes: strings.Split(query.Get("scope"), ",")}
	for _, other := range choices {
		if other != at {
			page.Others = append(page.Others, workspacePage{Name: other.name, Path: about(other.id)})
		}
	}
	rw.Header().Set("Content-Security-Policy", consentPolicy)
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = consentTemplate.Execute(rw, page)
}
