package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	"myao/activities"
	"myao/internal/answer/agents"
	"myao/internal/answer/budget"
	"myao/internal/answer/document"
	"myao/internal/answer/document/pdf"
	"myao/internal/answer/document/webpage"
	"myao/internal/answer/mcp"
	"myao/internal/config"
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
	ctx       context.Context // until the worker stops
	all       *workspaces.Workspaces
	store     *store.Store
	models    agents.Models
	documents *pdf.Reader
	files     *document.Reader // of no workspace
	remote    *mcp.Client
	promises  *activities.Turnstile
	atOnce    *activities.AtOnce
	metrics   *activities.Metrics
	asked     *agents.Metrics
	called    *mcp.Metrics
	// each makes the activities of a workspace when they are first needed.
	each workspaces.Each[*activities.Activities]

	mu   sync.Mutex
	ends []func()
}

// newParts makes what all workspaces share.
func newParts(ctx context.Context, p launch.Program, s *store.Store, all *workspaces.Workspaces) (made *parts,
	err error) {
	r := p.Telemetry.Registry
	made = &parts{
		Program: p, ctx: ctx, all: all, store: s, documents: pdf.NewReader(), promises: &activities.Turnstile{},
		atOnce:  &activities.AtOnce{Off: !p.Config.Worker.PostsAtOnce},
		metrics: activities.NewMetrics(r), asked: agents.NewMetrics(r), called: mcp.NewMetrics(r),
	}
	made.each.Make = made.activities
	if made.models, err = made.openModels(p.Config); err != nil {
		return nil, err
	}
	made.files = document.New(nil, made.documents, made.models.Prompts.Material, p.Logger)
	made.files.Metrics = document.NewMetrics(r)
	made.remote = made.openRemote(p.Config, made.models, "")
	r.MustRegister(telemetry.Gauge("myao_budget_used_ratio",
		"Share of the workspace's budget of the day that is used, "+
			"1 where it is reached; 0 without a limit, -1 when the database or Slack does not answer.", made.budgetUsed))
	return made, nil
}

// openModels opens the models of a configuration, until close.
func (p *parts) openModels(c config.Config) (agents.Models, error) {
	models, closeModels, err := agents.Open(p.ctx, c, p.Logger)
	if err != nil {
		return agents.Models{}, err
	}
	p.onClose(closeModels)
	if at := os.Getenv(tap.Variable); at != "" {
		report, err := tap.Before(at, time.Now)
		if err != nil {
			return agents.Models{}, err
		}
		models.Wrap(report)
	}
	models.Measure(p.asked)
	return models, nil
}

// openRemote opens the MCP servers of a configuration, until close; team is the workspace whose own they are.
func (p *parts) openRemote(c config.Config, models agents.Models, team string) *mcp.Client {
	remote := mcp.New(mcp.Options{
		Servers: c.MCP.Servers, Store: p.store, Material: models.Prompts.Material, Clock: time.Now, Logger: p.Logger,
		Metrics: p.called, Team: team,
	})
	p.onClose(remote.Close)
	return remote
}

func (p *parts) onClose(end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends = append(p.ends, end)
}

// close ends the connections to providers and MCP servers.
func (p *parts) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range slices.Backward(p.ends) {
		end()
	}
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

// of returns the models and the MCP servers of a workspace: those of all, unless its configuration has others.
func (p *parts) of(w *workspaces.Workspace) (models agents.Models, remote *mcp.Client, err error) {
	models, remote = p.models, p.remote
	own, all := w.Config, p.Config
	if !reflect.DeepEqual(own.Agents, all.Agents) || own.Language != all.Language || own.TimeZone != all.TimeZone {
		if models, err = p.openModels(own); err != nil {
			return agents.Models{}, nil, err
		}
	}
	if !reflect.DeepEqual(own.MCP.Servers, all.MCP.Servers) {
		remote = p.openRemote(own, models, w.Own.TeamID)
	}
	return models, remote, nil
}

// activities makes the activities of a workspace.
func (p *parts) activities(w *workspaces.Workspace) (*activities.Activities, error) {
	c := w.Config
	directory := &channels.Directory{Store: p.store, Slack: w.Slack, Config: c, Clock: time.Now, Logger: p.Logger}
	models, remote, err := p.of(w)
	if err != nil {
		return nil, err
	}
	ag := models.For(w, p.store, directory, p.Logger)
	files := p.files.For(w.Slack)
	ag.Files, ag.Recall.Transcripts = files, files
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
				Directory: directory, Operators: c.Slack.Operators, Bots: p.all.Bots}), Directory: directory,
			FirstWindow: c.Memory.ShortTermWindow(), ThreadWindow: c.Response.ThreadMemory(),
			Clock: time.Now, Logger: p.Logger,
		}),
		Tools: ag.Tools(w.Slack, directory,
			webpage.New(webpage.Options{PDF: p.documents, Memory: files.Memory, Denied: c.Tools.Denied()}), files,
			remote, c.Secrets()), Limits: c.Tools, Budget: spent, Retention: c.Retention,
		Installable: c.Slack.Installable(), SecondLook: c.Response.SecondLook, Feedback: c.Slack.Feedback,
		Shadow: c.Shadow, StartOfDay: c.StartOfDay, Promises: p.promises, AtOnce: p.atOnce, Language: c.Language,
		Statuses: statuses, Clock: time.Now, Logger: p.Logger, Metrics: p.metrics,
	}), nil
}
