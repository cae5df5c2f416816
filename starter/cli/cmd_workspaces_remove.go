package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"myao/internal/operate/timeline"
	"myao/internal/runtime/pause"
	"myao/internal/runtime/temporal"
	"myao/internal/slack/workspaces"
	"myao/internal/store"
)

type workspacesRemove struct {
	workspaceArg
	Purge bool `help:"Delete everything that is stored of it, now. Without it, retention.uninstalled_days says when."`
	confirmFlag
	byFlag
	output
}

// Help implements kong's Help.
func (workspacesRemove) Help() string {
	return `Nothing is sent there any more, and nothing that comes from there is stored. What waits goes on
waiting, and goes on when the app is installed again. In Slack the app stays until an administrator
removes it. Of an organisation, all workspaces are meant to which it has granted the app, except
those that have installed it themselves. --purge may be interrupted, and can be repeated.

  starter workspaces remove T0123456789
  starter workspaces remove T0123456789 --purge          says what would be deleted, and asks
  starter workspaces remove E0123456789 --purge --yes --by carol`
}

// Validate implements kong's Validate.
func (c *workspacesRemove) Validate() error {
	if c.Yes && !c.Purge {
		return errors.New("--yes needs --purge")
	}
	return c.workspaceArg.Validate()
}

// removeReport is what remove did.
type removeReport struct {
	ID     string    `json:"id"`
	State  string    `json:"state"` // before
	Ended  time.Time `json:"ended_at"`
	Purged bool      `json:"purged"`
	// Deleted is rows by table.
	Deleted map[string]int `json:"deleted,omitempty"`
	// Kept is the workspace of slack.bot_token, if it is among them: the bot still works there.
	Kept string `json:"kept,omitempty"`
	// Teams is the workspaces that the bot has left.
	Teams []string `json:"teams"`
}

func (c *workspacesRemove) run(ctx context.Context, p *program) error {
	db, i, err := c.find(ctx, p)
	if err != nil {
		return err
	}
	out := removeReport{ID: c.ID, State: string(i.State), Teams: []string{c.ID}}
	if i.Organisation() {
		teams, err := db.TeamsOf(ctx, i.ID)
		if err != nil {
			return err
		}
		out.Teams = []string{}
		for _, t := range teams {
			out.Teams = append(out.Teams, t.Team)
		}
	}
	name := strings.TrimSpace(c.ID + " " + timeline.Plain(i.Name))
	if c.Purge {
		if err := c.agree(ctx, p, &out, name); err != nil {
			return err
		}
	}
	if i.ID == c.ID {
		if _, err := db.EndInstallation(ctx, i.ID, time.Now(), store.InstallationRemoved, c.by()); err != nil {
			return err
		}
		if i, err = db.Installation(ctx, i.ID); err != nil {
			return err
		}
	}
	out.Ended = i.Ended
	if c.Purge {
		if err := c.purge(ctx, p, db, &out); err != nil {
			return err
		}
	}
	allowed := p.Config.Slack.MayInstall(c.ID, i.EnterpriseID)
	if !allowed {
		if allowed, err = db.Allowed(ctx, c.ID, i.EnterpriseID); err != nil {
			return err
		}
	}
	return c.print(p.stdout, out, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, out.text(name, allowed, p.Config.Retention.UninstalledDays))
		return err
	})
}

// find returns the installation, or for a workspace from which an organisation has withdrawn its own, one that ended
// then.
func (c *workspacesRemove) find(ctx context.Context, p *program) (*store.Store, store.Installation, error) {
	db, i, err := p.installation(ctx, c.ID)
	if errors.Is(err, store.ErrNotFound) {
		return c.withdrawn(ctx, db)
	}
	if err == nil && i.ID != c.ID {
		err = fmt.Errorf("%s has the app by the installation of the organisation %s: remove that, or have an "+
			"administrator of the organisation take the app from the workspace", c.ID, i.ID)
	}
	return db, i, err
}

func (c *workspacesRemove) withdrawn(ctx context.Context, db *store.Store) (*store.Store, store.Installation, error) {
	found := store.Installation{}
	err := db.EachInstallation(ctx, func(i store.Installation) error {
		if !i.Organisation() {
			return nil
		}
		teams, err := db.TeamsOf(ctx, i.ID)
		for _, t := range teams {
			if t.Team == c.ID {
				found = store.Installation{Name: t.Name, EnterpriseID: i.ID, State: "withdrawn", Ended: t.Changed}
			}
		}
		return err
	})
	if err == nil && found.State == "" {
		err = fmt.Errorf("%s has not installed the app: see starter workspaces list", c.ID)
	}
	if err == nil && !c.Purge {
		err = fmt.Errorf("the organisation %s has taken the app from %s: --purge deletes what is stored of it",
			found.EnterpriseID, c.ID)
	}
	return db, found, err
}

// agree finds the workspace that stays, and asks.
func (c *workspacesRemove) agree(ctx context.Context, p *program, out *removeReport, name string) error {
	if p.Config.Slack.BotToken != "" {
		own, err := p.slack().Identity(ctx)
		if err != nil {
			return fmt.Errorf("nothing was done: ask Slack which workspace that of slack.bot_token is, which has to "+
				"stay: %w", err)
		}
		if n := slices.Index(out.Teams, own.TeamID); n >= 0 {
			out.Teams, out.Kept = slices.Delete(out.Teams, n, n+1), own.TeamID
		}
	}
	of := name
	if !slices.Equal(out.Teams, []string{c.ID}) {
		of = fmt.Sprintf("%s, that is of %d workspaces", name, len(out.Teams))
	}
	return c.confirm(p, fmt.Sprintf("Delete everything that is stored of %s, for good?", of))
}

// purge waits until all programs know that the work has ended, and purges.
func (c *workspacesRemove) purge(ctx context.Context, p *program, db *store.Store, out *removeReport) error {
	if !pause.For(ctx, time.Until(out.Ended.Add(workspaces.Noticed))) {
		return ctx.Err()
	}
	progress := &sweepProgress{w: p.stderr}
	err := db.PurgeWorkspace(ctx, c.ID, out.Kept, progress.step)
	if errors.Is(err, store.ErrInUse) {
		return fmt.Errorf("%s was installed again meanwhile: what was not deleted yet stays", c.ID)
	}
	out.Purged, out.Deleted = err == nil, progress.changed
	return err
}

func (r removeReport) text(name string, allowed bool, days int) string {
	lines := []string{name + " is removed: nothing is sent there any more. In Slack the app stays until an " +
		"administrator removes it"}
	n := 0
	for _, rows := range r.Deleted {
		n += rows
	}
	switch {
	case r.Purged:
		lines = append(lines, fmt.Sprintf("Everything of it is deleted: %d rows", n))
		if len(r.Teams) > 0 {
			lines = append(lines, fmt.Sprintf("What is open in Temporal has ids alone. To end it: temporal workflow "+
				"terminate --namespace %s --query \"MyaoTeam IN ('%s')\"", temporal.Namespace(),
				strings.Join(r.Teams, "', '")))
		}
	case days == 0:
		lines = append(lines, "What waits there goes on when the app is installed again. What is stored stays: "+
			"--purge deletes it")
	default:
		lines = append(lines, fmt.Sprintf("What waits there goes on when the app is installed again. Everything of it "+
			"is deleted %d days after its end, or at once by --purge", days))
	}
	if r.Kept != "" {
		lines = append(lines, r.Kept+" is the workspace of slack.bot_token: what is stored of it stays, and the bot "+
			"still works there")
	}
	if allowed {
		lines = append(lines, "It may be installed again: see starter workspaces disallow, and slack.allowed_workspaces")
	}
	return strings.Join(lines, "\n")
}
