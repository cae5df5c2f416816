package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"myao/internal/store"
)

type workspacesShow struct {
	workspaceArg
	output
}

// Help implements kong's Help.
func (workspacesShow) Help() string {
	return `Of a workspace that an organisation has granted its installation to, that of the organisation is shown.

  starter workspaces show T0123456789
  starter workspaces show E0123456789 --json | jq '.teams[] | select(.granted)'`
}

func (c *workspacesShow) run(ctx context.Context, p *program) error {
	db, i, err := p.installation(ctx, c.ID)
	var r workspaceReport
	switch {
	case err == nil:
		r, err = p.report(ctx, db, i)
	case errors.Is(err, store.ErrNotFound):
		r, err = c.allowed(ctx, db)
	}
	if err != nil {
		return err
	}
	return c.print(p.stdout, r, func(w io.Writer) error { return r.write(w, p.Config.Location()) })
}

// allowed describes who has not installed the app.
func (c *workspacesShow) allowed(ctx context.Context, db *store.Store) (workspaceReport, error) {
	allowed, err := db.AllowedWorkspaces(ctx)
	for _, a := range allowed {
		if a.ID == c.ID {
			return allowance(a), nil
		}
	}
	if err == nil {
		err = fmt.Errorf("%s has not installed the app: see starter workspaces list", c.ID)
	}
	return workspaceReport{}, err
}
