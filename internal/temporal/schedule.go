package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	"myao/internal/conversation"
)

// The ids of those of the starter's schedules that others ask for by name. A schedule
// that is there is known by its id: they are never changed.
const (
	// MemorySchedule is of the runs that write the summaries.
	MemorySchedule = "memory"
	// CatchUpSchedule is of the runs that read what the door did not hear.
	CatchUpSchedule = "catch-up"
)

// Schedule is a workflow that is run again and again, never twice at once.
type Schedule struct {
	// ID is the schedule's, and what its workflows' ids begin with.
	ID    string
	Every time.Duration
	// CatchUp is for how long a run that was missed, since the server was away, is made up for.
	CatchUp time.Duration
	// Workflow is a registered function, Args what it is given.
	Workflow any
	Args     []any
	// Note tells people in the Web UI what it is for.
	Note string
}

// EnsureSchedule makes a schedule, or brings one that is there in line with s. One that
// somebody has paused stays so, with the note that says why.
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

func (s Schedule) spec() client.ScheduleSpec {
	return client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: s.Every}}}
}

func (s Schedule) action() *client.ScheduleWorkflowAction {
	return &client.ScheduleWorkflowAction{
		ID: s.ID, Workflow: s.Workflow, Args: s.Args, TaskQueue: conversation.TaskQueue, StaticSummary: s.Note,
	}
}
