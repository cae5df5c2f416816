package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"myao/internal/operate/timeline"
	"myao/internal/slack/manifest"
	"myao/internal/slack/oauth"
	"myao/internal/store"
)

// workspaceArg names an installation.
type workspaceArg struct {
	ID string `arg:"" help:"The id of the workspace (T…), or of the organisation (E…)."`
}

// installationID matches the ids that Slack gives to workspaces and organisations.
var installationID = regexp.MustCompile(`^[TE][A-Z0-9]+$`)

// Validate implements kong's Validate.
func (a workspaceArg) Validate() error {
	if !installationID.MatchString(a.ID) {
		return fmt.Errorf("%q: want the id of a workspace, T…, or of an organisation, E…", a.ID)
	}
	return nil
}

// installURL is where people install the app, or an error if nobody can.
func (p *program) installURL() (string, error) {
	if !p.Config.Slack.Installable() {
		return "", errors.New("slack.client_id is not set: nobody can install the app, and there is the workspace of " +
			"slack.bot_token alone; see docs/workspaces.md")
	}
	return p.Config.Server.PublicURL + oauth.InstallPath, nil
}

// installations opens the database of an app that workspaces install.
func (p *program) installations(ctx context.Context) (*store.Store, error) {
	if _, err := p.installURL(); err != nil {
		return nil, err
	}
	return p.database(ctx)
}

// installation finds an installation, by its own id or by that of a workspace to which it was granted.
func (p *program) installation(ctx context.Context, id string) (*store.Store, store.Installation, error) {
	db, err := p.installations(ctx)
	if err != nil {
		return nil, store.Installation{}, err
	}
	i, err := db.Installation(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		i, err = db.InstallationOf(ctx, id)
	}
	return db, i, err
}

// workspaceAllowed is the state of who may install the app by a command and has not.
const workspaceAllowed = "allowed"

// workspaceReport is an installation, or who was allowed to install the app. It has no token.
type workspaceReport struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	State string `json:"state"` // active, revoked, uninstalled, removed or allowed
	// Since is when the state began.
	Since time.Time `json:"since"`
	// Cause is why it is not active: app_uninstalled, tokens_revoked, a code of Slack's, or cli:NAME.
	Cause string `json:"cause,omitempty"`
	// Missing is the scopes that the configuration needs. Only a reinstallation brings them.
	Missing    []string `json:"missing_scopes,omitempty"`
	Enterprise string   `json:"enterprise_id,omitempty"`
	URL        string   `json:"url,omitempty"`
	AppID      string   `json:"app_id,omitempty"`
	BotUserID  string   `json:"bot_user_id,omitempty"`
	// Generation counts the installations, from 1.
	Generation  int64     `json:"generation,omitempty"`
	Installed   time.Time `json:"installed_at,omitzero"`
	InstalledBy string    `json:"installed_by,omitempty"`
	AllowedBy   string    `json:"allowed_by,omitempty"`
	// Ends is when the token ends, unless it is renewed; absent: it does not end.
	Ends time.Time `json:"token_ends_at,omitzero"`
	// Teams is the workspaces to which an organisation has granted its installation, or had.
	Teams []store.InstallationTeam `json:"teams,omitempty"`

	again string // where it is installed again, if its token is lost
}

// report describes an installation.
func (p *program) report(ctx context.Context, db *store.Store, i store.Installation) (r workspaceReport, err error) {
	r = workspaceReport{ID: i.ID, Name: i.Name, State: string(i.State), Since: i.Installed, Cause: i.Cause,
		Missing:    manifest.Names(manifest.Missing(p.Config, strings.Split(i.Scopes, ","))),
		Enterprise: i.EnterpriseID, URL: i.URL, AppID: i.AppID, BotUserID: i.BotUserID, Generation: i.Generation,
		Installed: i.Installed, InstalledBy: i.InstalledBy, Ends: i.Expires}
	if i.State != store.InstallationActive {
		r.Since = i.Ended
	}
	if i.Lost(time.Now()) {
		if r.again, err = p.installURL(); err != nil {
			return r, err
		}
	}
	if i.Organisation() {
		r.Teams, err = db.TeamsOf(ctx, i.ID)
	}
	return r, err
}

// allowance describes who was allowed to install the app.
func allowance(a store.Allowance) workspaceReport {
	return workspaceReport{ID: a.ID, State: workspaceAllowed, Since: a.At, AllowedBy: a.By}
}

// granted counts the workspaces to which an organisation grants its installation.
func (r workspaceReport) granted() int {
	return len(slices.DeleteFunc(slices.Clone(r.Teams), func(t store.InstallationTeam) bool { return !t.Granted }))
}

// note says in a few words what is to be known of it.
func (r workspaceReport) note() string {
	var notes []string
	if r.AllowedBy != "" {
		notes = append(notes, "by "+timeline.Plain(r.AllowedBy))
	}
	if r.Cause != "" {
		notes = append(notes, timeline.Plain(r.Cause))
	}
	if strings.HasPrefix(r.ID, "E") && r.AllowedBy == "" {
		notes = append(notes, fmt.Sprintf("granted to %d", r.granted()))
	}
	if r.again != "" {
		notes = append(notes, "token lost: install again at "+r.again)
	}
	if len(r.Missing) > 0 && r.State == string(store.InstallationActive) {
		notes = append(notes, "lacks "+strings.Join(r.Missing, ", "))
	}
	return strings.Join(notes, "; ")
}

// write describes the installation, a line for each thing.
func (r workspaceReport) write(w io.Writer, zone *time.Location) error {
	ends := "does not end"
	switch {
	case r.again != "":
		ends = "lost: somebody there installs the app again at " + r.again
	case !r.Ends.IsZero():
		ends = "until " + formatTime(r.Ends, zone) + ", unless it is renewed"
	}
	missing := "none"
	if len(r.Missing) > 0 {
		missing = strings.Join(r.Missing, ", ") + ": only a reinstallation brings them"
	}
	state := fmt.Sprintf("%s since %s", r.State, formatTime(r.Since, zone))
	rows := [][]string{{"id", r.ID}, {"name", cmp.Or(timeline.Plain(r.Name), "–")}, {"state", state}}
	if r.Cause != "" {
		rows = append(rows, []string{"cause", timeline.Plain(r.Cause)})
	}
	if r.AllowedBy != "" {
		return table(w, append(rows, []string{"allowed by", timeline.Plain(r.AllowedBy)}))
	}
	rows = append(rows,
		[]string{"organisation", cmp.Or(r.Enterprise, "–")},
		[]string{"address", cmp.Or(timeline.Plain(r.URL), "–")},
		[]string{"bot", r.BotUserID + " of the app " + cmp.Or(r.AppID, "–")},
		[]string{"installed", fmt.Sprintf("%s by %s, for the %d. time", formatTime(r.Installed, zone),
			timeline.Plain(r.InstalledBy), r.Generation)},
		[]string{"token", ends}, []string{"missing scopes", missing})
	if err := table(w, rows); err != nil || !strings.HasPrefix(r.ID, "E") {
		return err
	}
	if len(r.Teams) == 0 {
		_, err := fmt.Fprintf(w, "\nIt was granted to no workspace: an administrator adds the app at\n%s\n",
			oauth.GrantURL(r.ID, r.AppID))
		return err
	}
	granted := [][]string{{"WORKSPACE", "GRANTED", "SINCE", "NAME"}}
	for _, t := range r.Teams {
		word := "yes"
		if !t.Granted {
			word = "withdrawn"
		}
		granted = append(granted, []string{t.Team, word, formatTime(t.Changed, zone), timeline.Plain(t.Name)})
	}
	return section(w, granted)
}
