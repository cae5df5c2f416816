package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"myao/internal/slack/manifest"
)

// manifestCommand prints the manifest of the Slack app for the configuration.
type manifestCommand struct {
	URL    string `name:"url" placeholder:"URL" help:"The public https:// address of the starter, such as https://myao.example.com. Not needed in Socket Mode, or with server.public_url."`
	Agent  bool   `help:"Make the app an agent (agent_view): Slack shows the direct message with it in its own pane, with suggestions of what to ask."`
	Format string `enum:"yaml,json" default:"yaml" placeholder:"FORMAT" help:"yaml, with comments, or json (${default})."`
}

// Help implements kong's Help.
func (*manifestCommand) Help() string {
	return `Paste the output at https://api.slack.com/apps: for a new app under "Create New App", "From a
manifest"; for an existing app under "App Manifest", and install the app again.

  starter manifest --url https://myao.example.com > manifest.yaml

Slack issues the tokens once there is an app. Until then, use any word in their place:

  SLACK_BOT_TOKEN=none SLACK_SIGNING_SECRET=none GEMINI_API_KEY=none starter manifest --url …`
}

// Validate implements kong's Validate.
func (c *manifestCommand) Validate() error {
	if c.URL == "" {
		return nil // Socket Mode needs none
	}
	if _, err := manifest.Base(c.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	return nil
}

func (c *manifestCommand) run(_ context.Context, p *program) error {
	base := cmp.Or(c.URL, p.Config.Server.PublicURL)
	if base == "" && !p.Config.Slack.SocketMode() {
		return errors.New("--url is missing: want the public https:// address of the starter. Only Socket Mode " +
			"(slack.app_token) needs none")
	}
	m, err := manifest.New(p.Config, base)
	if err != nil {
		return err
	}
	if c.Agent {
		m = m.Agent(p.Config)
	}
	if c.Format == "json" {
		return printJSON(p.stdout, m)
	}
	text, err := m.YAML()
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(text)
	return err
}
