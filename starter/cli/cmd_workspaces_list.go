package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"myao/internal/operate/timeline"
	"myao/internal/store"
)

type workspacesList struct {
	output
}

// Help implements kong's Help.
func (workspacesList) Help() string {
	return `An installation is active; revoked, where Slack no longer takes its token; uninstalled; or removed,
by starter workspaces remove. allowed is who may install the app by starter workspaces allow, and
has not. Whom slack.allowed_workspaces allows stands in the configuration alone.

  starter workspaces list
  starter workspaces list --json | jq '.[] | select(.missing_scopes)'`
}

func (c *workspacesList) run(ctx context.Context, p *program) error {
	db, err := p.installations(ctx)
	if err != nil {
		return err
	}
	reports := []workspaceReport{}
	if err := db.EachInstallation(ctx, func(i store.Installation) error {
		r, err := p.report(ctx, db, i)
		reports = append(reports, r)
		return err
	}); err != nil {
		return err
	}
	allowed, err := db.AllowedWorkspaces(ctx)
	if err != nil {
		return err
	}
	for _, a := range allowed {
		if !slices.ContainsFunc(reports, func(r workspaceReport) bool { return r.ID == a.ID }) {
			reports = append(reports, allowance(a))
		}
	}
	return c.print(p.stdout, reports, func(w io.Writer) error {
		if len(reports) == 0 {
			_, err := fmt.Fprintln(w, "none: nobody has installed the app, see starter workspaces url")
			return err
		}
		rows := [][]string{{"ID", "STATE", "SINCE", "NAME", ""}}
		for _, r := range reports {
			since := formatTime(r.Since, p.Config.Location())
			rows = append(rows, []string{r.ID, r.State, since, timeline.Plain(r.Name), r.note()})
		}
		return table(w, rows)
	})
}
