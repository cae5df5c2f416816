package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"myao/internal/config"
	"myao/internal/runtime/pause"
	"myao/internal/runtime/temporal"
	"myao/workflows"
)

const (
	// catchUpInterval is how often it is checked whether the door may have missed messages. Slack itself
	// retries an event for about five minutes.
	catchUpInterval = 5 * time.Minute
	// channelSyncInterval bounds how late the bot learns that a channel was renamed or left.
	channelSyncInterval = 10 * time.Minute
	// pruneInterval is how often expired rows are deleted, beginning at midnight UTC. Whatever one
	// run leaves, the next one deletes.
	pruneInterval = 24 * time.Hour
	// hindsightInterval is how often decisions older than a day are labelled.
	hindsightInterval = time.Hour
	// shadowInterval is how often other judges are asked about what was judged since.
	shadowInterval = 5 * time.Minute
	// catchUpPause is the pause, in seconds, between two channels, except for the first ones. Slack
	// allows about fifty calls a minute. With two channels at a time a run makes forty, of a method that
	// replies seldom need; eighty where a channel takes two, and then waits as long as Slack says.
	catchUpPause = 3
	// scheduleCheckInterval is how often the starter checks that all schedules exist.
	// scheduleCheckTimeout bounds the check of one.
	scheduleCheckInterval = 10 * time.Minute
	scheduleCheckTimeout  = 10 * time.Second
)

// Schedules returns the Temporal schedules that a configuration needs.
func Schedules(c config.Config) []temporal.Schedule {
	all := []temporal.Schedule{
		{
			ID: temporal.MemorySchedule, Every: c.Memory.Interval(), CatchUp: time.Hour, Timeout: 24 * time.Hour,
			Workflow: workflows.Memory, Args: []any{workflows.MemoryInput{MaxConcurrent: c.Memory.MaxConcurrentScopes}},
			Note: "remembers what was said since the last run",
		},
		{
			ID: temporal.CatchUpSchedule, Every: catchUpInterval, CatchUp: catchUpInterval, Timeout: 24 * time.Hour,
			Workflow: workflows.CatchUp, Args: []any{workflows.CatchUpInput{PauseSeconds: catchUpPause}},
			Note: "reads what was said while the door was closed",
		},
		{
			ID: temporal.ChannelSyncSchedule, Every: channelSyncInterval, CatchUp: channelSyncInterval,
			Timeout: 6 * time.Hour, Workflow: workflows.ChannelSync, Args: []any{workflows.Of{}}, Note: "takes in which channels the bot is in",
		},
		{
			ID: temporal.RetentionSchedule, Every: pruneInterval, CatchUp: time.Hour, Timeout: 6 * time.Hour,
			Workflow: workflows.Retention, Args: []any{workflows.Of{}}, Note: "deletes what the configuration does not have kept any longer",
		},
		{
			ID: "hindsight", Every: hindsightInterval, CatchUp: hindsightInterval, Timeout: 6 * time.Hour,
			Workflow: workflows.Hindsight, Args: []any{workflows.Of{}}, Note: "labels what was decided a day ago by what followed",
		},
	}
	if c.Slack.Installable() {
		for id, in := range map[string]workflows.EachWorkspaceInput{
			temporal.MemorySchedule:      {Job: "Memory", MaxConcurrent: c.Memory.MaxConcurrentScopes},
			temporal.CatchUpSchedule:     {Job: "CatchUp", PauseSeconds: catchUpPause},
			temporal.ChannelSyncSchedule: {Job: "ChannelSync"},
		} {
			i := slices.IndexFunc(all, func(s temporal.Schedule) bool { return s.ID == id })
			all[i].Workflow, all[i].Args = workflows.EachWorkspace, []any{in}
		}
	}
	if len(c.Shadow.Judges) > 0 {
		all = append(all, temporal.Schedule{
			ID: temporal.ShadowSchedule, Every: shadowInterval, CatchUp: shadowInterval, Timeout: 6 * time.Hour,
			Workflow: workflows.Shadow, Args: []any{workflows.Of{}}, Note: "asks other judges what they would have decided",
		})
	}
	return all
}

// intervals is how often each schedule runs that records its runs.
func (s *starter) intervals() map[string]time.Duration {
	every := map[string]time.Duration{}
	for _, schedule := range Schedules(s.Config) {
		switch schedule.ID {
		case temporal.MemorySchedule, temporal.CatchUpSchedule, temporal.RetentionSchedule:
			every[schedule.ID] = schedule.Every
		}
	}
	return every
}

// setUpSchedules creates the schedules and then has catch-up look for gaps. It retries what failed until all is
// done. A failure does not hold up the rest.
func (s *starter) setUpSchedules(ctx context.Context) error {
	var left []func(context.Context) error
	for _, schedule := range Schedules(s.Config) {
		left = append(left, func(ctx context.Context) error {
			return temporal.EnsureSchedule(ctx, s.temporal,
				schedule)
		})
	}
	if len(s.Config.Shadow.Judges) == 0 {
		left = append(left, func(ctx context.Context) error {
			return temporal.RemoveSchedule(ctx, s.temporal, temporal.ShadowSchedule)
		})
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
			return ctx.Err() // the errors say no more
		}
		s.Logger.Error("schedules not created; trying again", "error", errors.Join(errs...), "in", wait.String())
		if !pause.For(ctx, wait) {
			return ctx.Err()
		}
	}
}

// restoreSchedules creates missing schedules again at each tick, until the context ends. Somebody
// may have deleted one, and Temporal ends a schedule that was paused for more than a week as soon
// as it is unpaused (github.com/temporalio/temporal/issues/9752).
func (s *starter) restoreSchedules(ctx context.Context, tick <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick:
		}
		for _, schedule := range Schedules(s.Config) {
			if err := s.restoreSchedule(ctx, schedule); err != nil && ctx.Err() == nil {
				s.Logger.Warn("schedule not checked", "schedule", schedule.ID, "error", err)
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
	s.Logger.Warn("a schedule is missing; creating it again", "schedule", schedule.ID)
	return temporal.EnsureSchedule(ctx, s.temporal, schedule)
}

// catchUp has the schedule look for gaps now. If it is doing so already, it does so again afterwards.
func (s *starter) catchUp(ctx context.Context) error {
	err := s.temporal.ScheduleClient().GetHandle(ctx, temporal.CatchUpSchedule).
		Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE})
	if err != nil {
		return fmt.Errorf("catch up: %w", err)
	}
	return nil
}

// catchUpSoon is catchUp after a gap was opened. What fails is left to the next run, or to setUpSchedules if
// there is no schedule yet.
func (s *starter) catchUpSoon(ctx context.Context) error {
	if err := s.catchUp(ctx); err != nil && ctx.Err() == nil && !errors.As(err, new(*serviceerror.NotFound)) {
		s.Logger.Warn("catch-up not started; the next run finds the gap", "error", err)
	}
	return nil
}
