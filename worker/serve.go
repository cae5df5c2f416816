package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/catchup"
	"myao/internal/conversation"
	"myao/internal/ingest"
	"myao/internal/launch"
	"myao/internal/mind"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/internal/temporal"
	"myao/workflows"
)

// stopFor is how long activities may take to end when the worker is told to
// stop; what has not ended is tried again by another worker.
const stopFor = 20 * time.Second

// serve runs until the context ends.
func serve(ctx context.Context, p launch.Program) (err error) {
	s, err := p.Store(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c, err := temporal.NewClient(p.Logger)
	if err != nil {
		return err
	}
	defer c.Close()
	a, closeModels, err := newActivities(ctx, p, s)
	if err != nil {
		return err
	}
	defer closeModels()

	fatal := make(chan error, 1)
	w, err := start(ctx, p, func() worker.Worker {
		return newWorker(c, a, func(err error) {
			select {
			case fatal <- err:
			default:
			}
		})
	})
	if err != nil {
		return err
	}
	defer w.Stop()
	p.Logger.Info("worker runs", "task_queue", conversation.TaskQueue)
	select {
	case <-ctx.Done():
		p.Logger.Info("worker stops")
		return nil
	case err := <-fatal:
		return fmt.Errorf("run worker: %w", err)
	}
}

func newWorker(c client.Client, a *activities.Activities, fatal func(error)) worker.Worker {
	w := worker.New(c, conversation.TaskQueue, worker.Options{
		WorkerStopTimeout: stopFor, OnFatalError: fatal,
		// The SDK would send a heartbeat every eight seconds: late for a limit of ten,
		// and for an activity that is to learn that it is called back.
		MaxHeartbeatThrottleInterval: 2 * time.Second,
	})
	w.RegisterWorkflowWithOptions(workflows.Conversation, workflow.RegisterOptions{Name: conversation.WorkflowType})
	w.RegisterWorkflow(workflows.Memory)
	w.RegisterWorkflow(workflows.CatchUp)
	w.RegisterWorkflow(workflows.ChannelSync)
	w.RegisterActivity(a)
	return w
}

// start tries until Temporal is there or the context ends. Each try has a worker
// of its own: one whose start has failed answers with the same error for ever.
func start(ctx context.Context, p launch.Program, make func() worker.Worker) (worker.Worker, error) {
	for wait := time.Second; ; wait = min(2*wait, 5*time.Second) {
		w := make()
		err := w.Start()
		if err == nil {
			return w, nil
		}
		p.Logger.Error("Temporal not ready; trying again", "error", err, "in", wait.String())
		if err := launch.Pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func newActivities(ctx context.Context, p launch.Program, s *store.Store) (*activities.Activities, func(), error) {
	client := slack.New(slack.Config{Token: string(p.Config.Slack.BotToken), APIURL: p.Config.Slack.APIURL})
	m, closeModels, err := mind.Open(ctx, p.Config, s, client, p.Logger)
	if err != nil {
		return nil, nil, err
	}
	return &activities.Activities{
		Store: s, Slack: client, Mind: m,
		Missed: &catchup.Reader{
			Store: s, Slack: client,
			Recorder: &ingest.Recorder{Store: s, Directory: client, Config: p.Config, Clock: time.Now, Logger: p.Logger},
			First:    p.Config.Memory.ShortTermWindow(), ActiveThreads: p.Config.Response.ThreadMemory(),
			Clock: time.Now, Logger: p.Logger,
		},
		Channel: p.Config.Channel, Clock: time.Now, Logger: p.Logger,
	}, closeModels, nil
}
