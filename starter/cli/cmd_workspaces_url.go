package cli

import (
	"context"
	"fmt"
	"io"
)

type workspacesURL struct {
	output
}

// Help implements kong's Help.
func (workspacesURL) Help() string {
	return `Give it to an administrator of the workspace, or of the organisation.

  starter workspaces url`
}

// urlReport is where people install the app.
type urlReport struct {
	URL string `json:"url"`
}

func (c *workspacesURL) run(_ context.Context, p *program) error {
	url, err := p.installURL()
	if err != nil {
		return err
	}
	out := urlReport{url}
	return c.print(p.stdout, out, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, out.URL)
		return err
	})
}
