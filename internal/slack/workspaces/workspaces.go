// Package workspaces is the one place that knows what belongs to a workspace: who the bot is there, the client that
// calls Slack for it, whether Slack takes its token, and its settings. Everything else is given the Workspace that it
// works for. There is the workspace of slack.bot_token, and with slack.client_id those that have installed the app.
package workspaces

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"myao/internal/config"
	"myao/internal/runtime/codec"
	"myao/internal/slack"
	"myao/internal/slack/installation"
	"myao/internal/slack/oauth"
	"myao/internal/store"
)

// Workspace is what belongs to one workspace.
type Workspace struct {
	// Own is who the bot is there.
	Own    slack.Identity
	Slack  *slack.Client
	Config config.Config
}

// Workspaces knows all workspaces. Create it with New. It is safe for concurrent use.
type Workspaces struct {
	config  config.Config
	clock   func() time.Time
	logger  *slog.Logger
	metrics *slack.Metrics

	// client and watch are those of slack.bot_token; nil without one.
	client   *slack.Client
	watch    *installation.Watch
	settings *config.Config // as they hold in that workspace; nil until somebody has asked
	// The rest is for those that have installed the app.
	codec  *codec.Codec
	oauth  oauth.Client
	store  atomic.Pointer[store.Store]
	loaded atomic.Bool

	mu    sync.Mutex
	byID  map[string]*installed // by the id of the workspace or organisation
	of    map[string]*installed // by team
	asked map[string]time.Time  // when the database was last asked about a team that it did not know
	bots  map[string]bool       // their user ids; nil: to be collected
}

// New makes the workspaces of a program, which measures its calls of Slack. It calls nobody.
func New(c config.Config, clock func() time.Time, logger *slog.Logger, r prometheus.Registerer) (*Workspaces, error) {
	w := &Workspaces{config: c, clock: clock, logger: logger, metrics: slack.NewMetrics(r)}
	r.MustRegister(w.gauge())
	if c.Slack.BotToken != "" {
		w.watch = installation.New(string(c.Slack.BotToken), clock, logger, r)
		w.client = slack.New(slack.Config{
			Token: string(c.Slack.BotToken), APIURL: c.Slack.APIURL, TrustOrg: c.Slack.TrustOrg(), Metrics: w.metrics,
			Gate: w.watch,
		})
	}
	if !c.Slack.Installable() {
		return w, nil
	}
	var err error
	if w.codec, err = codec.New(c.Encryption); err != nil {
		return nil, err
	}
	w.oauth = oauth.Client{ID: c.Slack.ClientID, Secret: string(c.Slack.ClientSecret), APIURL: c.Slack.APIURL,
		Metrics: w.metrics, Clock: clock}
	w.byID, w.of, w.asked = map[string]*installed{}, map[string]*installed{}, map[string]time.Time{}
	return w, nil
}

// Of returns the workspace of a team; "" is that of slack.bot_token. Without a token it is nobody's, and nothing can be
// sent there: for jobs that are about all workspaces together. Slack is asked who the bot is there, until it has
// answered once. Where Slack no longer takes that token, an installation counts. A team that has not installed the bot
// is slack.ErrForeign; what waits for it may go on waiting, until somebody does.
func (w *Workspaces) Of(ctx context.Context, team string) (*Workspace, error) {
	var unknown error
	var fixed *Workspace // that of slack.bot_token
	if w.client != nil {
		own, err := w.client.Identity(ctx)
		switch {
		case err != nil:
			unknown = fmt.Errorf("learn who the bot is: %w", err)
		case team == "" || team == own.TeamID:
			fixed = &Workspace{Own: own, Slack: w.client, Config: w.resolved(own)}
			if team == "" || !w.watch.Closed() {
				return fixed, nil
			}
		}
	}
	if team == "" && w.client == nil {
		client := slack.New(slack.Config{APIURL: w.config.Slack.APIURL, Gate: nobody{}})
		return &Workspace{Slack: client, Config: w.config}, nil
	}
	i, err := w.installationOf(ctx, team)
	switch {
	case fixed != nil && (err != nil || i == nil || i.Closed()):
		return fixed, nil
	case err != nil:
		return nil, err
	case i != nil:
		return i.workspace(ctx, team)
	case unknown != nil:
		return nil, unknown
	}
	return nil, foreign(team)
}

// foreign is the error about a workspace that has not installed the app.
func foreign(team string) error {
	return fmt.Errorf("%w: workspace %s has not installed the bot: %w", slack.ErrForeign, team, slack.NotInstalled())
}

// resolved returns the settings of the workspace of slack.bot_token.
func (w *Workspaces) resolved(own slack.Identity) config.Config {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.settings == nil {
		w.settings = new(w.config.ForWorkspace(own.TeamID, own.Enterprise))
	}
	return *w.settings
}

// nobody is the gate of the client that calls nobody.
type nobody struct{}

func (nobody) Closed() bool   { return true }
func (nobody) Refused(string) {}

// For returns the workspace that a delivery of Slack's is for, by the team and the organisation of the installation
// that it names. Where nobody can install the app, it is that of slack.bot_token: slack.Decode tells whether the
// delivery is for that.
func (w *Workspaces) For(ctx context.Context, team, organisation string) (*Workspace, error) {
	switch {
	case !w.config.Slack.Installable():
		return w.Of(ctx, "")
	case team == "":
		return nil, fmt.Errorf("%w: it names no workspace of the organisation %q", slack.ErrForeign, organisation)
	}
	of, err := w.Of(ctx, team)
	if organisation != "" && errors.Is(err, slack.ErrForeign) {
		return w.granted(ctx, team, organisation)
	}
	return of, err
}

// Use has the installations read from a database. Run does so, too.
func (w *Workspaces) Use(s *store.Store) { w.store.Store(s) }

// Run keeps up to date whether Slack takes the tokens, and the tokens themselves, until the context ends.
func (w *Workspaces) Run(ctx context.Context, s *store.Store) error {
	group, ctx := errgroup.WithContext(ctx)
	if w.watch != nil {
		group.Go(func() error { return w.watch.Run(ctx, s, w.client.Test) })
	}
	if w.config.Slack.Installable() {
		w.Use(s)
		group.Go(func() error { return w.follow(ctx) })
		group.Go(func() error { return w.keepTokens(ctx) })
	}
	return group.Wait()
}

// Known returns an error until it is known who the bot is, or who has installed it. It is a check of /readyz.
func (w *Workspaces) Known(ctx context.Context) error {
	if w.config.Slack.Installable() {
		if !w.loaded.Load() {
			return errors.New("slack: not known yet who has installed the app")
		}
		return nil
	}
	if _, err := w.client.Identity(ctx); err != nil {
		return fmt.Errorf("slack: %w", err)
	}
	return nil
}

// Taken returns an error while Slack does not take slack.bot_token. It is a check of /readyz.
func (w *Workspaces) Taken(ctx context.Context) error {
	if w.watch == nil {
		return nil
	}
	return w.watch.Ready(ctx)
}

// Closed reports whether Slack sends nothing, since it takes no token.
func (w *Workspaces) Closed() bool {
	return !w.config.Slack.Installable() && w.watch.Closed()
}

// LoadAppID asks Slack for the id of the app of slack.bot_token.
func (w *Workspaces) LoadAppID(ctx context.Context) error {
	if w.client == nil {
		return nil
	}
	return w.client.LoadAppID(ctx)
}
