package oauth

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"myao/internal/chat"
	"myao/internal/language/words"
	"myao/internal/slack"
)

// page is what people read in place of an error, or when all is done.
type page struct {
	Status   int
	Language chat.Language
	Title    string
	Lines    []string
	// Scopes are shown as a list below the lines.
	Scopes []string
	// Link is shown below it, under the name Do.
	Link, Do string
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var style string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// policy lets the page load nothing and run no script; only its own style counts.
var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

// show answers with a page.
func (h *Handler) show(w http.ResponseWriter, p page) {
	protect(w.Header())
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(p.Status)
	p.Language = h.Language
	if p.Language == "" {
		p.Language = chat.English
	}
	err := pageTemplate.Execute(w, struct {
		page
		Style template.CSS
	}{p, template.CSS(style)})
	if err != nil {
		h.Logger.Debug("the page of an installation was not read", "error", err)
	}
}

func (h *Handler) say(sentence string, args ...any) string {
	return words.In(h.Language).Say(sentence, args...)
}

// GrantURL is where an administrator of an organisation adds an app to workspaces.
func GrantURL(organisation, app string) string {
	return fmt.Sprintf("https://app.slack.com/manage/%s/integrations/profile/%s/workspaces/add", organisation, app)
}

// installed says what comes next.
func (h *Handler) installed(g Grant, missing []string) page {
	p := page{Status: http.StatusOK, Title: h.say("%s is installed in %s.", h.Name, name(g))}
	if g.Org {
		p.Lines = append(p.Lines, h.say("An administrator of the organisation adds it to workspaces. Until then it hears "+
			"nothing there."))
		p.Link = GrantURL(g.Enterprise, g.App)
		p.Do = h.say("Add it to workspaces")
	}
	p.Lines = append(p.Lines, h.say("In Slack, type /invite @%s in a channel, and then mention it there.", h.Name))
	if p.Scopes = missing; len(missing) > 0 {
		p.Lines = append(p.Lines, h.say("Slack has not granted everything. What needs these scopes does not work until "+
			"the app is installed again with them:"))
	}
	return p
}

func (h *Handler) notAllowed(g Grant) page {
	return page{Status: http.StatusForbidden, Title: h.say("%s may not be installed in %s.", h.Name, name(g)),
		Lines: []string{h.say("It is not among the workspaces that may install the app. Nothing was stored, and the " +
			"access was given back."),
			h.say("Ask whoever runs %s to allow %s.", h.Name, g.ID())}}
}

// again is a page that leads back to the beginning.
func (h *Handler) again(status int, lines ...string) page {
	return page{Status: status, Title: h.say("Nothing was installed."), Lines: lines,
		Link: strings.TrimSuffix(h.PublicURL, "/") + InstallPath, Do: h.say("Begin again")}
}

func (h *Handler) refusedState(err error) page {
	sameBrowser := h.say("Begin again, and finish within ten minutes in the same browser.")
	switch {
	case errors.Is(err, errForeign):
		return h.again(http.StatusForbidden, h.say("The installation began in another browser, or a newer one has begun "+
			"in this one."), sameBrowser)
	case errors.Is(err, errOld):
		return h.again(http.StatusBadRequest, h.say("The installation has taken too long."), sameBrowser)
	case errors.Is(err, errUsed):
		p := h.again(http.StatusConflict, sameBrowser)
		p.Title = h.say("This installation is over already.")
		return p
	}
	return h.again(http.StatusBadRequest, h.say("The installation did not begin here."), sameBrowser)
}

// refusedBySlack is for an error that Slack sent in place of a code.
func (h *Handler) refusedBySlack(code string) page {
	if code == "access_denied" {
		return h.again(http.StatusForbidden, h.say("You did not agree to the installation in Slack."))
	}
	return h.again(http.StatusBadRequest, h.refusal(code)...)
}

func (h *Handler) refusal(code string) []string {
	lines := []string{h.say("Slack refuses the installation: %s.", errorCode(code))}
	if code == "invalid_team_for_non_distributed_app" {
		lines = append(lines, h.say("The app is not distributed, so Slack installs it in one workspace only."))
	}
	return append(lines, h.say("Tell whoever runs %s.", h.Name))
}

func (h *Handler) failedExchange(err error) page {
	refused, _ := errors.AsType[*slack.Error](err)
	switch {
	case refused == nil || refused.Kind != slack.Final:
		return h.again(http.StatusServiceUnavailable, h.say("Slack does not answer as it should. Begin again in a minute."))
	case slices.Contains([]string{"invalid_code", "code_already_used", "code_expired"}, refused.Code):
		return h.again(http.StatusBadRequest, h.say("Slack does not take the code any more."))
	}
	return h.again(http.StatusBadGateway, h.refusal(refused.Code)...)
}

func (h *Handler) unavailable() page {
	return h.again(http.StatusServiceUnavailable, h.say("The installation could not be stored. Begin again in a minute."))
}

// name is how people know the workspace or the organisation of a grant.
func name(g Grant) string {
	shown := g.TeamName
	if g.Org {
		shown = g.EnterpriseName
	}
	if shown = strings.TrimSpace(shown); shown == "" {
		return g.ID()
	}
	return shown
}
