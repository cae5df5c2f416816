// Package workspaces is the one place that knows what belongs to a workspace: who the bot is there, the client that
// calls Slack for it, whether Slack takes its token, and its settings. Everything else is given the Workspace that it
// works for.
package workspaces

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/slack/installation"
	"myao/internal/store"
)

// Workspace is what belongs to one workspace.
type Workspace struct {
	// Own is who the bot is there.
	Own    slack.Identity
	Slack  *slack.Client
	Config config.Config
	// Installation is told when Slack no longer takes the token.
	Installation Installation
}

// Installation is told when Slack no longer takes a token.
type Installation interface {
	Revoke(ctx context.Context, r store.Revocation) error
}

// Workspaces knows all workspaces. Create it with New. It is safe for concurrent use.
type Workspaces struct {
	config config.Config
	client *slack.Client
	watch  *installation.Watch
}

// New makes the workspaces of a program, which measures its calls of Slack. It calls nobody.
func New(c config.Config, clock func() time.Time, logger *slog.Logger, r prometheus.Registerer) *Workspaces {
	w := &Workspaces{config: c, watch: installation.New(string(c.Slack.BotToken), clock, logger, r)}
	w.client = slack.New(slack.Config{
		Token: string(c.Slack.BotToken), APIURL: c.Slack.APIURL, TrustOrg: c.Slack.TrustOrg(),
		Metrics: slack.NewMetrics(r), Gate: w.watch,
	})
	return w
}

// Of returns the workspace of a team; "" is that of slack.bot_token. Slack is asked who the bot is there, until it has
// answered once.
func (w *Workspaces) Of(ctx context.Context, team string) (*Workspace, error) {
	own, err := w.client.Identity(ctx)
	if err != nil {
		return nil, fmt.Errorf("learn who the bot is: %w", err)
	}
	if team != "" && team != own.TeamID {
		return nil, fmt.Errorf("%w: workspace %s has not installed the bot", slack.ErrForeign, team)
	}
	return &Workspace{Own: own, Slack: w.client, Config: w.config, Installation: w.watch}, nil
}

// Run keeps up to date whether Slack takes the token, until the context ends.
func (w *Workspaces) Run(ctx context.Context, s *store.Store) error {
	return w.watch.Run(ctx, s, w.client.Test)
}

// Known returns an error until it is known who the bot is. It is a check of /readyz.
func (w *Workspaces) Known(ctx context.Context) error {
	if _, err := w.client.Identity(ctx); err != nil {
		return fmt.Errorf("slack: %w", err)
	}
	return nil
}

// Taken returns an error while Slack does not take the token. It is a check of /readyz.
func (w *Workspaces) Taken(ctx context.Context) error { return w.watch.Ready(ctx) }

// Closed reports whether Slack sends nothing, since it takes no token.
func (w *Workspaces) Closed() bool { return w.watch.Closed() }

// LoadAppID asks Slack for the id of the app of slack.bot_token.
func (w *Workspaces) LoadAppID(ctx context.Context) error { return w.client.LoadAppID(ctx) }
