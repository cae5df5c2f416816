package workspace

import (
	"net/url"
)

// Organisation is an Enterprise organisation that workspaces of an app belong to. An app that is installed in it has
// one token, which serves in each workspace that the organisation grants it to
// (docs.slack.dev/enterprise/developing-for-enterprise-orgs). People have the same id in all of them, channels do not.
type Organisation struct {
	ID, Name string

	app     *Slack
	members []*Workspace
	// The rest is guarded by app.mu.
	installation
	grants map[*Workspace]bool
}

// installation is the app in a workspace, or in an organisation.
type installation struct {
	uninstalled bool
	tokens      map[string]*botToken // that the app got
	scope       string               // of the newest of them
}

// begin is called when the app is installed. What it had before is worth nothing after it was uninstalled.
func (i *installation) begin(scope string) (anew bool) {
	anew = i.uninstalled
	if anew {
		clear(i.tokens)
	}
	i.uninstalled, i.scope = false, scope
	return anew
}

// notGranted is what Slack answers to an organisation's token in a workspace that was not granted.
const notGranted = "team_access_not_granted"

// AddOrganisation makes an organisation of workspaces that Add has built. The app is not installed in it.
func (a *Slack) AddOrganisation(id string, members ...*Workspace) *Organisation {
	o := &Organisation{ID: id, Name: "Organisation " + id, app: a, members: members, grants: map[*Workspace]bool{},
		installation: installation{uninstalled: true, tokens: map[string]*botToken{}}}
	for _, w := range members {
		w.mu.Lock()
		w.org = o
		w.mu.Unlock()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.organisations = append(a.organisations, o)
	return o
}

// Agree has an administrator agree to install the app in the organisation, as Slack.Agree does for a workspace.
func (o *Organisation) Agree(scope, redirectURI string) (code string) {
	return o.app.agree(place{o.members[0], o}, scope, redirectURI)
}

// Grant has the organisation add the app to workspaces, and Withdraw has it take the app from them
// (docs.slack.dev/reference/events/team_access_granted, docs.slack.dev/reference/events/team_access_revoked).
func (o *Organisation) Grant(to ...*Workspace) { o.access("team_access_granted", true, to) }

// Withdraw is described at Grant.
func (o *Organisation) Withdraw(from ...*Workspace) { o.access("team_access_revoked", false, from) }

// access changes which workspaces have the app. The authorization of its event is not that of an organisation, as in
// Slack's reference (seen in github.com/slackapi/bolt-js/issues/1778, too).
func (o *Organisation) access(event string, granted bool, teams []*Workspace) {
	ids := []string{}
	o.app.mu.Lock()
	for _, w := range teams {
		o.grants[w] = granted
		ids = append(ids, w.cfg.Team)
	}
	o.app.mu.Unlock()
	o.emit(map[string]any{"type": event, "team_ids": ids}, ids[0], false)
}

// Uninstall removes the app from the organisation, and from each workspace that it was granted to.
func (o *Organisation) Uninstall() {
	o.app.mu.Lock()
	o.uninstalled = true
	clear(o.grants)
	o.app.mu.Unlock()
	for _, inner := range o.members[0].goodbyes() {
		o.emit(inner, o.ID, true)
	}
}

// emit delivers an event of the organisation.
func (o *Organisation) emit(inner map[string]any, team string, wide bool) {
	w := o.members[0]
	w.mu.Lock()
	defer w.mu.Unlock()
	w.emitOutside(inner, map[string]any{
		"team_id": team, "enterprise_id": o.ID, "context_team_id": nil, "context_enterprise_id": o.ID,
		"authorizations": []map[string]any{{"enterprise_id": o.ID, "team_id": team, "user_id": w.bot.UserID,
			"is_bot": wide, "is_enterprise_install": wide}},
	})
}

// owns reports whether a token is, or was, one of the organisation.
func (o *Organisation) owns(token string) bool {
	o.app.mu.Lock()
	defer o.app.mu.Unlock()
	return o.tokens[token] != nil
}

// route returns the workspace of a call with the organisation's token: the one that it names, or the granted one that
// has what it names.
func (o *Organisation) route(args url.Values) *Workspace {
	if team := args.Get("team_id"); team != "" {
		return o.app.of(team)
	}
	for _, w := range o.members {
		if o.granted(w) && w.has(args) {
			return w
		}
	}
	return o.members[0]
}

func (o *Organisation) granted(w *Workspace) bool {
	o.app.mu.Lock()
	defer o.app.mu.Unlock()
	return o.grants[w]
}

// has reports whether the workspace has the channel, file, trigger or person that a call names.
func (w *Workspace) has(args url.Values) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, known := range map[string]func(id string) bool{
		"channel":    func(id string) bool { return w.channelByID(id) != nil },
		"channel_id": func(id string) bool { return w.channelByID(id) != nil },
		"file":       func(id string) bool { return w.files[id] != nil },
		"trigger_id": func(id string) bool { return w.triggers[id] != nil },
		"user":       func(id string) bool { return w.user(id) != nil },
		"user_id":    func(id string) bool { return w.user(id) != nil },
		"users":      func(id string) bool { return w.user(id) != nil },
	} {
		if id := args.Get(key); id != "" && !known(id) {
			return false
		}
	}
	return true
}

// given returns a token that the app got for the workspace, or for its organisation. Callers hold mu.
func (w *Workspace) given(token string) (t *botToken, wide bool) {
	if t = w.tokens[token]; t != nil || w.org == nil {
		return t, false
	}
	w.slack.mu.Lock()
	defer w.slack.mu.Unlock()
	t = w.org.tokens[token]
	return t, t != nil
}

// through returns the workspace's organisation, or nil, and whether the workspace has the app by the installation of
// that. Its own comes first. Callers hold mu.
func (w *Workspace) through() (o *Organisation, wide bool) {
	if w.org == nil {
		return nil, false
	}
	w.slack.mu.Lock()
	defer w.slack.mu.Unlock()
	return w.org, w.uninstalled && !w.org.uninstalled && w.org.grants[w]
}

// describe is the organisation in answers and payloads.
func (o *Organisation) describe() any {
	if o == nil {
		return nil
	}
	return map[string]any{"id": o.ID, "name": o.Name}
}

// id is the organisation's id, or nil.
func (o *Organisation) id() any {
	if o == nil {
		return nil
	}
	return o.ID
}

// authTeamsList lists the workspaces that a token serves (docs.slack.dev/reference/methods/auth.teams.list).
func (c *call) authTeamsList() (reply, error) {
	teams := []reply{}
	_, wide := c.given(c.token)
	if !wide {
		teams = append(teams, reply{"id": c.cfg.Team, "name": "Sandbox " + c.cfg.Team})
		return list(c, "teams", teams)
	}
	c.slack.mu.Lock()
	for _, w := range c.org.members {
		if c.org.grants[w] {
			teams = append(teams, reply{"id": w.cfg.Team, "name": "Sandbox " + w.cfg.Team})
		}
	}
	c.slack.mu.Unlock()
	return list(c, "teams", teams)
}
