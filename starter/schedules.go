package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"myao/internal/conversation"
	"myao/internal/pause"
	"myao/internal/temporal"
	"myao/workflows"
)

const (
	// catchUpInterval is how often the history of all channels is looked at for what the
	// door did not hear. Slack itself sends an event again for some five minutes.
	catchUpInterval = 5 * time.Minute
	// channelSyncInterval is how long a channel may have been renamed, or left, before that is known.
	channelSyncInterval = 10 * time.Minute
	// pruneInterval is how often what is not kept any longer is deleted: each time from
	// midnight, UTC, on. Anything that is put off goes the next time.
	pruneInterval = 24 * time.Hour
	// catchUpPause is left between two channels in a round that nobody waits for. Slack
	// allows about fifty calls a minute; with two channels side by side these are forty,
	// of a method that answers need seldom.
	catchUpPause = 3
	// scheduleCheckInterval is how often it is looked whether all schedules are there, and lookFor how long that may take.
	scheduleCheckInterval = 10 * time.Minute
	scheduleCheckTimeout  = 10 * time.Second
)

// schedules are what is done again and again.
func (s *starter) schedules() []temporal.Schedule {
	return []temporal.Schedule{
		{
			ID: temporal.MemorySchedule, Every: s.Config.Memory.Interval(), CatchUp: time.Hour,
			Workflow: workflows.Memory, Args: []any{workflows.MemoryInput{}}, Note: "remembers what was said since the last run",
		},
		{
			ID: temporal.CatchUpSchedule, Every: catchUpInterval, CatchUp: catchUpInterval,
			Workflow: workflows.CatchUp, Args: []any{workflows.CatchUpInput{PauseSeconds: catchUpPause}}, Note: "reads what was said while the door was closed",
		},
		{
			ID: "channel-sync", Every: channelSyncInterval, CatchUp: channelSyncInterval,
			Workflow: workflows.ChannelSync, Note: "takes in which channels the bot is in",
		},
		{
			ID: "retention", Every: pruneInterval, CatchUp: time.Hour,
			Workflow: workflows.Retention, Note: "deletes what the configuration does not have kept any longer",
		},
	}
}

// setUpSchedules makes the schedules, and catches up at once. It tries until all of that is
// done; what fails keeps nothing else from being done.
func (s *starter) setUpSchedules(ctx context.Context) error {
	var left []func(context.Context) error
	for _, schedule := range s.schedules() {
		left = append(left, func(ctx context.Context) error { return temporal.EnsureSchedule(ctx, s.temporal, schedule) })
	}
	left = append(left, s.catchUp)
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		var failed []func(context.Context) error
		var errs []error
		for _, do := range left {
			if err := do(ctx); err != nil {
				failed, errs = append(failed, do), append(errs, err)
			}
		}
		if left = failed; len(left) == 0 {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err() // that is all that they tell
		}
		s.Logger.Error("schedules not made; trying again", "error", errors.Join(errs...), "in", wait.String())
		if !pause.For(ctx, wait) {
			return ctx.Err()
		}
	}
}

// restoreSchedules makes a schedule again that is gone, whenever it is time to look, until the
// context ends. Somebody may have deleted it; and Temporal ends one by itself that was paused
// for more than a week, as soon as it is unpaused (github.com/temporalio/temporal/issues/9752).
func (s *starter) restoreSchedules(ctx context.Context, look <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look:
		}
		for _, schedule := range s.schedules() {
			if err := s.restoreSchedule(ctx, schedule); err != nil && ctx.Err() == nil {
				s.Logger.Warn("not known whether a schedule is there", "schedule", schedule.ID, "error", err)
			}
		}
	}
}

func (s *starter) restoreSchedule(ctx context.Context, schedule temporal.Schedule) error {
	ctx, cancel := context.WithTimeout(ctx, scheduleCheckTimeout)
	defer cancel()
	_, err := s.temporal.ScheduleClient().GetHandle(ctx, schedule.ID).Describe(ctx)
	var gone *serviceerror.NotFound
	if !errors.As(err, &gone) {
		return err
	}
	s.Logger.Warn("a schedule is gone; making it again", "schedule", schedule.ID)
	return temporal.EnsureSchedule(ctx, s.temporal, schedule)
}

// catchUp reads what was said before the starter was started. A run that is under way
// begins again: what it has passed by already may have been missed since.
func (s *starter) catchUp(ctx context.Context) error {
	_, err := s.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "catch-up-at-start", TaskQueue: conversation.TaskQueue, StaticSummary: "reads what was said before the starter was started",
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
	}, workflows.CatchUp, workflows.CatchUpInput{Start: true})
	if err != nil {
		return fmt.Errorf("catch up: %w", err)
	}
	return nil
}
