package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"
	"golang.org/x/sync/errgroup"

	"myao/activities"
	"myao/internal/answer/agents"
	"myao/internal/answer/budget"
	"myao/internal/answer/document"
	"myao/internal/answer/document/pdf"
	"myao/internal/answer/document/webpage"
	"myao/internal/answer/mcp"
	"myao/internal/conversation"
	"myao/internal/intake/catchup"
	"myao/internal/intake/record"
	"myao/internal/llm/tap"
	"myao/internal/operate/launch"
	"myao/internal/runtime/telemetry"
	"myao/internal/runtime/temporal"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/slack/installation"
	"myao/internal/slack/threadstatus"
	"myao/internal/store"
)

// serve runs until the context ends.
func serve(ctx context.Context, p launch.Program) error {
	build, _ := debug.ReadBuildInfo()
	version, err := deploymentOptions(p.Config.Worker, build)
	if err != nil {
		return err
	}
	checksum, err := binaryChecksum(build, os.Executable)
	if err != nil {
		return err
	}
	worker.SetBinaryChecksum(checksum)
	c, err := temporal.NewClient(p.Config.Encryption, p.Logger, p.Telemetry.ConfigureClient)
	if err != nil {
		return err
	}
	defer c.Close()
	watch := installation.New(string(p.Config.Slack.BotToken), time.Now, p.Logger, p.Telemetry.Registry)
	h := &probeServer{
		Program: p, temporal: c, watch: watch,
		slack: slack.New(slack.Config{
			Token: string(p.Config.Slack.BotToken), APIURL: p.Config.Slack.APIURL, TrustOrg: p.Config.Slack.TrustOrg(),
			Metrics: slack.NewMetrics(p.Telemetry.Registry), Gate: watch,
		}),
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.serve(ctx, listenRetryInterval) })
	group.Go(func() error {
		if err := runWorkers(ctx, h, version); err != nil {
			return err
		}
		return ctx.Err() // the program was told to stop
	})
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// runWorkers runs workflows and activities until the context ends.
func runWorkers(ctx context.Context, h *probeServer, version worker.DeploymentOptions) (err error) {
	p := h.Program
	s, err := p.Store(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	h.store.Store(s)
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { _ = h.watch.Run(watch, s, h.slack.Test) }) // ends with its context only
	defer watching.Wait()
	defer stop()
	a, closeModels, err := newActivities(ctx, p, s, h.slack)
	if err != nil {
		return err
	}
	defer closeModels()
	var tracker activityTracker
	defer func() { // before the store and the models are closed
		if !tracker.drain(drainTimeout) {
			p.Logger.Warn("some activities are still running; their end may not be recorded")
		}
	}()

	fatal := make(chan error, 1)
	w, err := start(ctx, p, func() workers {
		return newWorkers(h.temporal, a, &tracker, p.Config.Worker, version, func(err error) {
			select {
			case fatal <- err:
			default:
			}
		})
	})
	if err != nil {
		return err
	}
	defer w.stop()
	h.polling.Store(true)
	p.Logger.Info("worker runs", "task_queues", []string{conversation.TaskQueue, conversation.ModelTaskQueue,
		conversation.ToolsTaskQueue},
		"deployment", version.Version.DeploymentName, "build_id", version.Version.BuildID)
	select {
	case <-ctx.Done():
		p.Logger.Info("worker stops")
		return nil
	case err := <-fatal:
		message := err.Error()
		h.fatal.Store(&message)
		return fmt.Errorf("run worker: %w", err)
	}
}

func newActivities(
	ctx context.Context, p launch.Program, s *store.Store, client *slack.Client,
) (*activities.Activities, func(), error) {
	directory := &channels.Directory{Store: s, Slack: client, Config: p.Config, Clock: time.Now, Logger: p.Logger}
	ag, closeModels, err := agents.Open(ctx, p.Config, s, client, directory, p.Logger)
	if err != nil {
		return nil, nil, err
	}
	if at := os.Getenv(tap.Variable); at != "" {
		report, err := tap.Before(at, time.Now)
		if err != nil {
			closeModels()
			return nil, nil, err
		}
		ag.Wrap(report)
	}
	ag.Measure(p.Telemetry.Registry)
	documents := pdf.NewReader()
	files := document.New(client, documents, ag.Prompts.Material, p.Logger)
	ag.Files = files
	remote := mcp.New(mcp.Options{
		Servers: p.Config.MCP.Servers, Store: s, Material: ag.Prompts.Material, Clock: time.Now, Logger: p.Logger,
		Metrics: mcp.NewMetrics(p.Telemetry.Registry),
	})
	closeAll := func() {
		remote.Close()
		closeModels()
	}
	spent := &budget.Workspace{Calls: s, Slack: client, Limit: p.Config.WorkspaceBudget(),
		StartOfDay: p.Config.StartOfDay, Clock: time.Now}
	p.Telemetry.Registry.MustRegister(telemetry.Gauge("myao_budget_used_ratio",
		"Share of the workspace's budget of the day that is used, "+
			"1 where it is reached; 0 without a limit, -1 when the database or Slack does not answer.", spent.Used))
	statuses := activities.Statuses{Servers: slices.Collect(maps.Keys(p.Config.MCP.Servers))}
	if p.Config.Slack.Status {
		statuses.Board = threadstatus.NewBoard(client, time.Now, p.Logger)
	}
	return activities.New(&activities.Activities{
		Store: s, Slack: client, Directory: directory, Agents: ag,
		Missed: catchup.New(&catchup.Reader{
			Store: s, Slack: client, Recorder: record.New(&record.Recorder{Store: s, Directory: directory,
				Operators: p.Config.Slack.Operators}), Directory: directory,
			FirstWindow: p.Config.Memory.ShortTermWindow(), ThreadWindow: p.Config.Response.ThreadMemory(),
			Clock: time.Now, Logger: p.Logger,
		}),
		Tools: ag.Tools(client, directory,
			webpage.New(webpage.Options{PDF: documents, Memory: files.Memory, Denied: p.Config.Tools.Denied()}), files,
			remote, p.Config.Secrets()), Limits: p.Config.Tools, Budget: spent, Retention: p.Config.Retention,
		SecondLook: p.Config.Response.SecondLook, Feedback: p.Config.Slack.Feedback, Shadow: p.Config.Shadow,
		StartOfDay: p.Config.StartOfDay, Promises: &activities.Turnstile{},
		AtOnce: &activities.AtOnce{Off: !p.Config.Worker.PostsAtOnce}, Language: p.Config.Language,
		Statuses: statuses, Clock: time.Now, Logger: p.Logger, Metrics: activities.NewMetrics(p.Telemetry.Registry),
	}), closeAll, nil
}
