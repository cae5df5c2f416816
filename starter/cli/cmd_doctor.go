package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"myao/internal/operate/doctor"
	"myao/internal/runtime/temporal"
	"myao/internal/slack/manifest"
	"myao/starter/serve"
)

// doctorCommand checks everything that the bot needs.
type doctorCommand struct {
	output
	URL string `name:"url" placeholder:"URL" help:"The public address of the starter. Without it, the starter on this machine is checked."`
	Ask bool   `help:"Ask each model for a word too. It costs a few tokens."`
}

// Help implements kong's Help.
func (*doctorCommand) Help() string {
	return `It checks Slack's token and scopes, the address of events, Temporal, the database, the models
and the keys, and says how to fix what is wrong. Nothing is changed. The exit status is 1 if
something keeps the bot from working; warnings leave it at 0.

  starter doctor --url https://myao.example.com
  starter doctor --json | jq '.[] | select(.status == "fail")'`
}

// Validate implements kong's Validate.
func (c *doctorCommand) Validate() error {
	if c.URL == "" {
		return nil
	}
	rest, ok := strings.CutPrefix(c.URL, "http://") // which a check tells of
	if !ok {
		rest, ok = strings.CutPrefix(c.URL, "https://")
	}
	if !ok {
		return fmt.Errorf("--url %q: want the public address of the starter, such as https://myao.example.com", c.URL)
	}
	if _, err := manifest.Base("https://" + rest); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	return nil
}

func (c *doctorCommand) run(ctx context.Context, p *program) error {
	quiet := slog.New(slog.DiscardHandler) // the checks report what is wrong
	d := doctor.Doctor{
		Config:    p.Config,
		Slack:     p.slack(),
		Dial:      func() (client.Client, error) { return temporal.NewClient(p.Config.Encryption, quiet) },
		Address:   temporal.Address(),
		Namespace: temporal.Namespace(),
		URL:       strings.TrimRight(c.URL, "/"), Ask: c.Ask, Clock: time.Now,
	}
	for _, s := range serve.Schedules(p.Config) {
		d.Schedules = append(d.Schedules, doctor.Schedule{ID: s.ID, Every: s.Every})
	}
	findings := d.Examine(ctx)
	if err := c.print(p.stdout, findings, func(w io.Writer) error { return printFindings(w, findings) }); err != nil {
		return err
	}
	if failed := doctor.Count(findings, doctor.Fail); failed > 0 {
		first := slices.IndexFunc(findings, func(f doctor.Finding) bool { return f.Status == doctor.Fail })
		return fmt.Errorf("%d of %d checks failed; begin with the first, %s", failed, len(findings),
			findings[first].Check)
	}
	return nil
}

// printFindings writes a line for each finding, and under it how to fix it.
func printFindings(w io.Writer, findings []doctor.Finding) error {
	wide := 0
	for _, f := range findings {
		wide = max(wide, len(f.Check))
	}
	for _, f := range findings {
		if _, err := fmt.Fprintf(w, "%-4s  %-*s  %s\n", f.Status, wide, f.Check, f.Message); err != nil {
			return err
		}
		if f.Fix != "" {
			if _, err := fmt.Fprintf(w, "%*s→ %s\n", wide+8, "", f.Fix); err != nil {
				return err
			}
		}
	}
	return nil
}
