package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"myao/activities"
	"myao/internal/catchup"
	"myao/internal/conversation"
	"myao/internal/ingest"
	"myao/internal/launch"
	"myao/internal/mind"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/internal/temporal"
)

// serve runs until the context ends.
func serve(ctx context.Context, p launch.Program) (err error) {
	build, _ := debug.ReadBuildInfo()
	version, err := deployment(p.Config.Worker, build)
	if err != nil {
		return err
	}
	s, err := p.Store(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c, err := temporal.NewClient(p.Config.Encryption, p.Logger)
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
	w, err := start(ctx, p, func() pair {
		return newPair(c, a, p.Config.Worker, version, func(err error) {
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
	p.Logger.Info("worker runs", "task_queues", []string{conversation.TaskQueue, conversation.ModelTaskQueue},
		"deployment", version.Version.DeploymentName, "build_id", version.Version.BuildID)
	select {
	case <-ctx.Done():
		p.Logger.Info("worker stops")
		return nil
	case err := <-fatal:
		return fmt.Errorf("run worker: %w", err)
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
