package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	"myao/internal/conversation"
)

// The ids of the starter's schedules that other packages look up. A server has schedules under
// these ids, so they never change.
const (
	// MemorySchedule runs the Memory workflow.
	MemorySchedule = "memory"
	// CatchUpSchedule runs the CatchUp workflow.
	CatchUpSchedule = "catch-up"
	// ChannelSyncSchedule runs the ChannelSync workflow.
	ChannelSyncSchedule = "channel-sync"
	// RetentionSchedule runs the Retention workflow.
	RetentionSchedule = "retention"
	// ShadowSchedule runs the Shadow workflow.
	ShadowSchedule = "shadow"
)

// ForgetPersonWorkflow is the type of the workflow that takes a person out of the database. Its
// input is a chat.Person.
const ForgetPersonWorkflow = "ForgetPerson"

// IntroductionWorkflow is the type of the workflow that introduces the bot in a channel. Its input is an
// activities.IntroduceInput.
const IntroductionWorkflow = "Introduction"

// Schedule runs a workflow periodically, one run at a time.
type Schedule struct {
	// ID is the schedule's id, and the prefix of its workflows' ids.
	ID    string
	Every time.Duration
	// CatchUp is the catch-up window: how late a missed run may start after an outage.
	CatchUp time.Duration
	// Timeout bounds a run with all that continue it as new: one that is stuck does not hold up the schedule.
	Timeout time.Duration
	// Workflow is a registered workflow function, Args its arguments.
	Workflow any
	Args     []any
	// Note says in the Web UI what the schedule is for.
	Note string
}

// EnsureSchedule creates a schedule, or updates an existing one. A schedule that somebody paused
// stays paused, and keeps its note.
func EnsureSchedule(ctx context.Context, c client.Client, s Schedule) error {
	options := client.ScheduleOptions{
		ID: s.ID, Spec: s.spec(), Action: s.action(),
		Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: s.CatchUp, Note: s.Note,
	}
	_, err := c.ScheduleClient().Create(ctx, options)
	if err == nil {
		return nil
	}
	if !errors.Is(err, sdk.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("create schedule %s: %w", s.ID, err)
	}
	err = c.ScheduleClient().GetHandle(ctx, s.ID).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			schedule := in.Description.Schedule
			spec := s.spec()
			schedule.Spec, schedule.Action = &spec, s.action()
			schedule.Policy = &client.SchedulePolicies{Overlap: options.Overlap, CatchupWindow: s.CatchUp}
			if !schedule.State.Paused {
				schedule.State.Note = s.Note
			}
			return &client.ScheduleUpdate{Schedule: &schedule}, nil
		},
	})
	if err != nil {
		return fmt.Errorf("update schedule %s: %w", s.ID, err)
	}
	return nil
}

// RemoveSchedule deletes a schedule, if there is one.
func RemoveSchedule(ctx context.Context, c client.Client, id string) error {
	err := c.ScheduleClient().GetHandle(ctx, id).Delete(ctx)
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete schedule %s: %w", id, err)
	}
	return nil
}

func (s Schedule) spec() client.ScheduleSpec {
	return client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: s.Every}}}
}

func (s Schedule) action() *client.ScheduleWorkflowAction {
	return &client.ScheduleWorkflowAction{
		ID: s.ID, Workflow: s.Workflow, Args: s.Args, TaskQueue: conversation.TaskQueue, StaticSummary: s.Note,
		WorkflowExecutionTimeout: s.Timeout,
	}
}
