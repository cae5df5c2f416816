package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"myao/internal/store"
)

type workspacesAllow struct {
	workspaceArg
	byFlag
	output
}

// Help implements kong's Help.
func (workspacesAllow) Help() string {
	return `It counts at once, beside slack.allowed_workspaces. Of an organisation, the organisation and each of
its workspaces may install the app.

  starter workspaces allow T0123456789
  starter workspaces allow E0123456789 --by carol`
}

// allowReport says who may install the app by a command.
type allowReport struct {
	ID      string `json:"id"`
	Allowed bool   `json:"allowed"`
}

func (c *workspacesAllow) run(ctx context.Context, p *program) error {
	url, err := p.installURL()
	if err != nil {
		return err
	}
	db, err := p.database(ctx)
	if err != nil {
		return err
	}
	if err := db.AllowWorkspace(ctx, c.ID, c.by()); err != nil {
		return err
	}
	return c.print(p.stdout, allowReport{c.ID, true}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s may install the app, at %s\n", c.ID, url)
		return err
	})
}

type workspacesDisallow struct {
	workspaceArg
	output
}

// Help implements kong's Help.
func (workspacesDisallow) Help() string {
	return `An installation that is there stays: starter workspaces remove ends it.

  starter workspaces disallow T0123456789`
}

func (c *workspacesDisallow) run(ctx context.Context, p *program) error {
	db, err := p.installations(ctx)
	if err != nil {
		return err
	}
	err = db.Disallow(ctx, c.ID)
	missing, configured := errors.Is(err, store.ErrNotFound), p.Config.Slack.MayInstall(c.ID, "")
	switch {
	case missing && configured:
		return fmt.Errorf("%s is allowed by slack.allowed_workspaces: take it out there", c.ID)
	case missing:
		return fmt.Errorf("%s was not allowed", c.ID)
	case err != nil:
		return err
	}
	return c.print(p.stdout, allowReport{c.ID, configured}, func(w io.Writer) error {
		text := c.ID + " may not install the app any more"
		if configured {
			text = c.ID + " may still install the app: slack.allowed_workspaces allows it"
		}
		_, err := fmt.Fprintln(w, text)
		return err
	})
}
