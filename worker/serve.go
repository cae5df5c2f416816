package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"
	"golang.org/x/sync/errgroup"

	"myao/internal/conversation"
	"myao/internal/operate/launch"
	"myao/internal/runtime/temporal"
	"myao/internal/slack/workspaces"
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
	all, err := workspaces.New(p.Config, time.Now, p.Logger, p.Telemetry.Registry)
	if err != nil {
		return err
	}
	h := &probeServer{Program: p, temporal: c, workspaces: all}
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
	watching.Go(func() { _ = h.workspaces.Run(watch, s) }) // ends with its context only
	defer watching.Wait()
	defer stop()
	made, err := newParts(ctx, p, s, h.workspaces)
	if err != nil {
		return err
	}
	defer made.close()
	var tracker activityTracker
	defer func() { // before the store and the models are closed
		if !tracker.drain(drainTimeout) {
			p.Logger.Warn("some activities are still running; their end may not be recorded")
		}
	}()

	fatal := make(chan error, 1)
	w, err := start(ctx, p, func() workers {
		return newWorkers(h.temporal, made, &tracker, p.Config.Worker, version, func(err error) {
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
