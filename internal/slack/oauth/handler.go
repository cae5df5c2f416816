// Package oauth has workspaces and organisations install the app: it sends a browser to Slack, exchanges the
// code with which it comes back, and hands the grant over to be stored. It also exchanges refresh tokens.
//
// It does not use PKCE. Slack takes that only from apps that are marked as public clients, for good, and whose
// refresh tokens end after 30 days (docs.slack.dev/authentication/using-pkce). Others it refuses with
// pkce_not_allowed. A server keeps the client secret, and the state is bound to the browser.
package oauth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/runtime/required"
	"myao/internal/slack/manifest"
)

// The routes of Handler, below the public address.
const (
	InstallPath  = "/slack/install"
	CallbackPath = manifest.OAuthPath
)

// callbackTime bounds the exchange of a code with all that follows. It stays below the time that the server has
// for an answer (web.DefaultLimits).
const callbackTime = 12 * time.Second

// Handler serves the installation of the app in a browser. All fields are required.
type Handler struct {
	Client Client
	// PublicURL is the address of the starter as browsers see it, such as https://myao.example.com.
	PublicURL string
	// Name is the bot's name.
	Name string
	// Scopes are the scopes of the bot to ask for.
	Scopes []string
	// Allowed reports whether a workspace or an organisation may install the app. One of them is empty if Slack names
	// only the other. The organisation of a workspace is named even if the app is not installed in all of it.
	Allowed func(ctx context.Context, team, organisation string) (bool, error)
	// Store keeps a grant. It is called again when the app is installed again.
	Store    func(ctx context.Context, g Grant) error
	Logger   *slog.Logger
	Language chat.Language

	used used
}

// Register registers GET /slack/install and GET /slack/oauth.
func (h *Handler) Register(mux *http.ServeMux) {
	required.Fields(h)
	mux.HandleFunc("GET "+InstallPath, h.install)
	mux.HandleFunc("GET "+CallbackPath, h.callback)
}

// install sends the browser to Slack, where somebody agrees to the installation
// (docs.slack.dev/authentication/installing-with-oauth). Only the newest of several tabs can go on: the cookie is
// that of the newest state.
func (h *Handler) install(w http.ResponseWriter, _ *http.Request) {
	authorize, err := url.Parse(h.Client.base())
	if err != nil {
		http.Error(w, "slack.api_url is no address", http.StatusInternalServerError)
		return
	}
	browser := newBrowser()
	authorize = authorize.JoinPath("../oauth/v2/authorize")
	authorize.RawQuery = url.Values{
		"client_id": {h.Client.ID}, "scope": {strings.Join(h.Scopes, ",")}, "redirect_uri": {h.redirect()},
		"state": {newState(h.Client.Secret, browser, h.Client.Clock())},
	}.Encode()
	h.setCookie(w, browser, int(stateTime.Seconds()))
	protect(w.Header())
	w.Header().Set("Location", authorize.String())
	w.WriteHeader(http.StatusFound)
}

// callback installs the app, when the browser comes back from Slack.
func (h *Handler) callback(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet { // HEAD, which must have no effect
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	query := r.URL.Query()
	var browser string
	if cookie, err := r.Cookie(cookieName(h.PublicURL)); err == nil {
		browser = cookie.Value
	}
	now := h.Client.Clock()
	nonce, err := checkState(h.Client.Secret, browser, query.Get("state"), now)
	switch {
	case err == nil:
		h.setCookie(w, "", -1)
		if !h.used.first(nonce, now) {
			err = errUsed
		}
	case errors.Is(err, errForeign) && h.used.has(nonce): // somebody loads the last page again
		err = errUsed
	}
	if err != nil {
		h.Logger.Warn("installation refused", "reason", "its state is "+err.Error())
		h.show(w, h.refusedState(err))
		return
	}
	// The installation goes on when the browser does not wait for it: Slack has made it already.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callbackTime)
	defer cancel()
	h.show(w, h.finish(ctx, query.Get("code"), query.Get("error")))
}

// finish exchanges the code, checks who installs the app, and stores the grant. It returns the page to show.
func (h *Handler) finish(ctx context.Context, code, refused string) page {
	if refused != "" || code == "" {
		h.Logger.Warn("installation refused", "reason", "Slack sent an error", "error", errorCode(refused))
		return h.refusedBySlack(refused)
	}
	g, err := h.Client.Exchange(ctx, code, h.redirect())
	if err != nil {
		h.Logger.Error("installation failed", "error", err)
		return h.failedExchange(err)
	}
	about := []any{"team", g.Team, "organisation", g.Enterprise, "organisation_wide", g.Org, "by", g.InstalledBy}
	switch allowed, err := h.Allowed(ctx, g.Team, g.Enterprise); {
	case err != nil:
		h.Logger.Error("installation failed: who may install is not known", append(about, "error", err)...)
		return h.unavailable()
	case !allowed:
		h.Logger.Warn("installation refused", append(about, "reason", "not allowed")...)
		if err := h.Client.Revoke(ctx, g.Token); err != nil {
			h.Logger.Warn("the token of a refused installation was not given back", append(about, "error", err)...)
		}
		return h.notAllowed(g)
	}
	if err := h.Store(ctx, g); err != nil {
		h.Logger.Error("installation failed: it is not stored", append(about, "error", err)...)
		return h.unavailable()
	}
	missing := slices.DeleteFunc(slices.Clone(h.Scopes), func(s string) bool { return slices.Contains(g.Scopes, s) })
	h.Logger.Info("installed", append(about, "missing_scopes", missing)...)
	return h.installed(g, missing)
}

func (h *Handler) redirect() string { return strings.TrimSuffix(h.PublicURL, "/") + CallbackPath }

// setCookie sets the browser's secret, or deletes it. SameSite=Lax: the browser comes back from Slack's host.
func (h *Handler) setCookie(w http.ResponseWriter, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{Name: cookieName(h.PublicURL), Value: value, Path: "/", MaxAge: seconds,
		Secure: isHTTPS(h.PublicURL), HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// protect keeps the code and the state, which are in the address, out of caches and out of the next address.
func protect(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
}

var codePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,79}$`)

// errorCode returns an error code that anybody may have put in the address, if it is one.
func errorCode(code string) string {
	if !codePattern.MatchString(code) {
		return "unknown_error"
	}
	return code
}
