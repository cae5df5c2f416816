package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"myao/activities"
	"myao/internal/answer/agents"
	"myao/internal/answer/budget"
	"myao/internal/answer/document"
	"myao/internal/answer/document/pdf"
	"myao/internal/answer/document/webpage"
	"myao/internal/answer/mcp"
	"myao/internal/intake/catchup"
	"myao/internal/intake/record"
	"myao/internal/llm/tap"
	"myao/internal/operate/launch"
	"myao/internal/runtime/telemetry"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/slack/threadstatus"
	"myao/internal/slack/workspaces"
	"myao/internal/store"
)

// parts are what the activities of all workspaces share.
type parts struct {
	launch.Program
	all       *workspaces.Workspaces
	store     *store.Store
	models    agents.Models
	documents *pdf.Reader
	files     *document.Reader // of no workspace
	remote    *mcp.Client
	promises  *activities.Turnstile
	atOnce    *activities.AtOnce
	metrics   *activities.Metrics
	// each makes the activities of a workspace when they are first needed.
	each workspaces.Each[*activities.Activities]
}

// newParts makes what all workspaces share. close ends the connections to providers and MCP servers.
func newParts(ctx context.Context, p launch.Program, s *store.Store, all *workspaces.Workspaces) (made *parts,
	close func(), err error) {
	models, closeModels, err := agents.Open(ctx, p.Config, p.Logger)
	if err != nil {
		return nil, nil, err
	}
	if at := os.Getenv(tap.Variable); at != "" {
		report, err := tap.Before(at, time.Now)
		if err != nil {
			closeModels()
			return nil, nil, err
		}
		models.Wrap(report)
	}
	models.Measure(p.Telemetry.Registry)
	documents := pdf.NewReader()
	made = &parts{
		Program: p, all: all, store: s, models: models, documents: documents,
		files: document.New(nil, documents, models.Prompts.Material, p.Logger),
		remote: mcp.New(mcp.Options{
			Servers: p.Config.MCP.Servers, Store: s, Material: models.Prompts.Material, Clock: time.Now,
			Logger: p.Logger, Metrics: mcp.NewMetrics(p.Telemetry.Registry),
		}),
		promises: &activities.Turnstile{}, atOnce: &activities.AtOnce{Off: !p.Config.Worker.PostsAtOnce},
		metrics: activities.NewMetrics(p.Telemetry.Registry),
	}
	made.each.Make = made.activities
	p.Telemetry.Registry.MustRegister(telemetry.Gauge("myao_budget_used_ratio",
		"Share of the workspace's budget of the day that is used, "+
			"1 where it is reached; 0 without a limit, -1 when the database or Slack does not answer.",
		made.budgetUsed))
	return made, func() {
		made.remote.Close()
		closeModels()
	}, nil
}

// Of returns the activities of the workspace of a team.
func (p *parts) Of(ctx context.Context, team string) (*activities.Activities, error) {
	w, err := p.all.Of(ctx, team)
	if err != nil {
		return nil, err
	}
	return p.each.Of(w)
}

// bot returns the bot's user id in a workspace; "" if it is not there.
func (p *parts) bot(ctx context.Context, team string) (string, error) {
	w, err := p.all.Of(ctx, team)
	if errors.Is(err, slack.ErrForeign) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return w.Own.UserID, nil
}

// budgetUsed is the share of the day's budget that is used.
func (p *parts) budgetUsed(ctx context.Context) (float64, error) {
	if !p.Config.WorkspaceBudget().Limited() {
		return 0, nil
	}
	a, err := p.Of(ctx, "")
	if err != nil {
		return 0, err
	}
	return a.Budget.Used(ctx)
}

// activities makes the activities of a workspace.
func (p *parts) activities(w *workspaces.Workspace) (*activities.Activities, error) {
	c := w.Config
	directory := &channels.Directory{Store: p.store, Slack: w.Slack, Config: c, Clock: time.Now, Logger: p.Logger}
	ag := p.models.For(w, p.store, directory, p.Logger)
	files := p.files.For(w.Slack)
	ag.Files = files
	spent := &budget.Workspace{Calls: p.store, Team: w.Own.TeamID, Limit: c.WorkspaceBudget(),
		StartOfDay: c.StartOfDay, Clock: time.Now}
	statuses := activities.Statuses{Servers: slices.Collect(maps.Keys(c.MCP.Servers))}
	if c.Slack.Status {
		statuses.Board = threadstatus.NewBoard(w.Slack, time.Now, p.Logger)
	}
	return activities.New(&activities.Activities{
		Store: p.store, Own: w.Own, Slack: w.Slack, Directory: directory, Agents: ag, Bot: p.bot,
		Missed: catchup.New(&catchup.Reader{
			Store: p.store, Own: w.Own, Slack: w.Slack, Recorder: record.New(&record.Recorder{Store: p.store,
				Directory: directory, Operators: c.Slack.Operators}), Directory: directory,
			FirstWindow: c.Memory.ShortTermWindow(), ThreadWindow: c.Response.ThreadMemory(),
			Clock: time.Now, Logger: p.Logger,
		}),
		Tools: ag.Tools(w.Slack, directory,
			webpage.New(webpage.Options{PDF: p.documents, Memory: files.Memory, Denied: c.Tools.Denied()}), files,
			p.remote, c.Secrets()), Limits: c.Tools, Budget: spent, Retention: c.Retention,
		SecondLook: c.Response.SecondLook, Feedback: c.Slack.Feedback, Shadow: c.Shadow,
		StartOfDay: c.StartOfDay, Promises: p.promises, AtOnce: p.atOnce, Language: c.Language,
		Statuses: statuses, Clock: time.Now, Logger: p.Logger, Metrics: p.metrics,
	}), nil
}
