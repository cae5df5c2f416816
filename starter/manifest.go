package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"myao/internal/launch"
	"myao/internal/manifest"
)

// manifestCommand prints the Slack app that the configuration needs.
type manifestCommand struct {
	URL    string `name:"url" placeholder:"URL" help:"The address at which Slack reaches the starter, as https://myao.example.com. Not needed in Socket Mode."`
	Format string `enum:"yaml,json" default:"yaml" placeholder:"FORMAT" help:"yaml, which says what what is for, or json (${default})."`
}

// Help is kong's way to be told more: what the command is used with.
func (*manifestCommand) Help() string {
	return `Paste what it prints at https://api.slack.com/apps: for a new app under "Create New App",
"From a manifest"; for one that there is, under "App Manifest", and install it again.

  starter manifest --url https://myao.example.com > manifest.yaml

Slack gives the tokens when there is an app. Until then any word will do in their place:

  SLACK_BOT_TOKEN=none SLACK_SIGNING_SECRET=none GEMINI_API_KEY=none starter manifest --url …`
}

// Validate is kong's way to be told what cannot be.
func (c *manifestCommand) Validate() error {
	if c.URL == "" {
		return nil // Socket Mode needs none
	}
	if _, err := manifest.Base(c.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	return nil
}

func (c *manifestCommand) run(_ context.Context, p launch.Program, stdout io.Writer) error {
	if c.URL == "" && !p.Config.Slack.SocketMode() {
		return errors.New("--url is missing: the https:// address at which Slack reaches the starter; only Socket Mode, which slack.app_token chooses, needs none")
	}
	m, err := manifest.New(p.Config, c.URL)
	if err != nil {
		return err
	}
	if c.Format == "json" {
		return printJSON(stdout, m)
	}
	text, err := m.YAML()
	if err != nil {
		return err
	}
	_, err = stdout.Write(text)
	return err
}
