package slack

import (
	"fmt"
	"strings"
)

// Identity is the bot's own identity (docs.slack.dev/reference/methods/auth.test).
type Identity struct {
	TeamID   string
	UserID   string
	BotID    string
	Name     string
	TeamName string
	// URL is the workspace's address, such as https://example.slack.com/.
	URL string
	// OrgID is the Enterprise organisation in which the app is installed as a whole; empty for
	// an app that is installed in one workspace, even if that belongs to an organisation.
	OrgID string
	// Enterprise is the Enterprise organisation that the workspace belongs to, if any.
	Enterprise string
	// AppID is the bot's app; empty until Client.LoadAppID has asked.
	AppID string
}

// origin is the app, workspaces and organisations that a delivery names. Each may be empty.
type origin struct {
	app   string
	teams []string
	// orgs are organisations in which the app is installed as a whole.
	orgs []string
	addressee
}

// addressee is whose installation a delivery is for. Either field may be empty.
type addressee struct{ team, org string }

// addresseeOf reads the envelope of an event: its first authorization, or else its context. The workspace
// in which the event happened comes last, since it may be another company's
// (docs.slack.dev/apis/events-api/#authorizations).
func addresseeOf(envelope object) (to addressee) {
	var first object
	if authorizations := envelope.list("authorizations"); len(authorizations) > 0 {
		first, _ = parseObject(authorizations[0])
	}
	to.team = workspaceID(first.text("team_id"))
	if first.flag("is_enterprise_install") {
		to.org = validOrEmpty(first.text("enterprise_id"))
	}
	if to.team != "" {
		return to
	}
	if to.org == "" {
		to.org = validOrEmpty(envelope.text("context_enterprise_id"))
	}
	to.team = workspaceID(envelope.text("context_team_id"))
	if to.team == "" && (first == nil || !envelope.flag("is_ext_shared_channel")) {
		to.team = workspaceID(envelope.text("team_id"))
	}
	if to == (addressee{}) {
		to.org = validOrEmpty(envelope.text("enterprise_id"))
	}
	return to
}

// workspaceID returns the id of a workspace, or "" if it is malformed or an organisation's. Slack has those in
// place of a workspace for an app that is installed in an organisation.
func workspaceID(id string) string {
	if strings.HasPrefix(id, "E") {
		return ""
	}
	return validOrEmpty(id)
}

// add adds the workspace of an installation, and its organisation if the app is installed in all
// of that (docs.slack.dev/enterprise/developing-for-enterprise-orgs).
func (o *origin) add(installation object) {
	o.teams = append(o.teams, installation.text("team_id"))
	if installation.flag("is_enterprise_install") {
		o.orgs = append(o.orgs, installation.text("enterprise_id"))
	}
}

// of returns ErrForeign unless the origin is the bot's own workspace and, where both are known, its
// own app. One of the workspaces must be ours, not all. In a channel that is shared with another
// company (docs.slack.dev/apis/slack-connect) an event also names the workspace in which it
// happened, and Slack cuts the list of authorizations to one entry.
func (o origin) of(id Identity) error {
	if o.app != "" && id.AppID != "" && o.app != id.AppID {
		return fmt.Errorf("%w: app %s", ErrForeign, logName(o.app))
	}
	named := ""
	for _, team := range o.teams {
		if team != "" && team == id.TeamID {
			return nil
		}
		if named == "" {
			named = team
		}
	}
	for _, org := range o.orgs {
		if org != "" && org == id.OrgID {
			return nil
		}
	}
	return fmt.Errorf("%w: workspace %s", ErrForeign, logName(named))
}
