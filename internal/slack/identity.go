package slack

import "fmt"

// Identity is who this bot is, as auth.test tells (docs.slack.dev/reference/methods/auth.test).
type Identity struct {
	TeamID   string
	UserID   string
	BotID    string
	Name     string
	TeamName string
	// URL is the workspace's address, such as https://example.slack.com/.
	URL string
	// OrgID is the Enterprise organisation for the whole of which the app is installed;
	// empty for an app installed in a workspace, whatever organisation that is part of.
	OrgID string
	// AppID is the app that the bot is of, once Client.LearnApp has asked; empty: not known.
	AppID string
}

// origin is whose something is by its own account: everything that it names, each of
// which may be empty.
type origin struct {
	app   string
	teams []string
	// orgs are the organisations for the whole of which an app is installed.
	orgs []string
}

// add takes in an object with the fields team_id and, where an app is installed for all
// of an organisation, enterprise_id and is_enterprise_install
// (docs.slack.dev/enterprise/developing-for-enterprise-orgs).
func (o *origin) add(installation object) {
	o.teams = append(o.teams, installation.text("team_id"))
	if installation.flag("is_enterprise_install") {
		o.orgs = append(o.orgs, installation.text("enterprise_id"))
	}
}

// of returns ErrForeign unless the origin is the bot's own workspace and, where both are
// known, its own app. One of the workspaces has to be ours and not all: in a channel that
// is shared with others (docs.slack.dev/apis/slack-connect) an event also names the one in
// which it happened, and its list of who may see it is cut to a single entry.
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
