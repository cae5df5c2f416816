package activities

import (
	"context"
	"fmt"
	"time"

	"myao/internal/runtime/temporal"
	"myao/internal/store"
)

// FindWorkspacesInput asks for a page of the workspaces that a job is to be done for.
type FindWorkspacesInput struct {
	Of
	// Job is the name of the job's workflow.
	Job string `json:"job"`
	// After is the last team of the page before.
	After string `json:"after,omitempty"`
}

// FindWorkspacesOutput is a page of workspaces.
type FindWorkspacesOutput struct {
	Teams []string `json:"teams,omitempty"`
	// Next is After of the next page; empty if this is the last one.
	Next string `json:"next,omitempty"`
}

const (
	// workspacesPageSize is how many workspaces a page has.
	workspacesPageSize = 100
	// idleInterval is how often jobs go through workspaces in which nothing happens.
	idleInterval = 24 * time.Hour
	// listedInterval is how often the channels of such a workspace are listed where catch-up, which lists them at each
	// idleInterval, has not.
	listedInterval = idleInterval + time.Hour
	// busyFor is how long after the last message there are channels to list often.
	busyFor = time.Hour
)

// FindWorkspaces returns the workspaces that a job is to be done for, in order of team.
func (a *Activities) FindWorkspaces(ctx context.Context, in FindWorkspacesInput) (FindWorkspacesOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	now := a.Clock()
	r := store.DueRequest{Token: a.Own.TeamID, After: in.After, Limit: workspacesPageSize, Last: now.Add(-idleInterval)}
	schedule := ""
	switch in.Job {
	case "Memory":
		// Memories change as messages leave the window, too.
		schedule, r.Active = temporal.MemorySchedule, now.Add(-a.Agents.Memory.ShortTermWindow()-idleInterval)
	case "CatchUp":
		schedule, r.Gaps = temporal.CatchUpSchedule, true
	case "ChannelSync":
		r.Job, r.Last, r.Active = temporal.ChannelSyncSchedule, now.Add(-listedInterval), now.Add(-busyFor)
	default:
		return FindWorkspacesOutput{}, final(fmt.Errorf("no job is called %q", in.Job))
	}
	teams, err := a.Store.WorkspacesDue(ctx, r)
	if err == nil && schedule != "" && in.After == "" {
		err = a.Store.RecordRun(ctx, schedule)
	}
	if err != nil {
		return FindWorkspacesOutput{}, classify(err)
	}
	out := FindWorkspacesOutput{Teams: teams}
	if len(teams) == workspacesPageSize {
		out.Next = teams[len(teams)-1]
	}
	return out, nil
}

// recordRun notes that a job has run, unless it was one workspace's part of it: FindWorkspaces notes the whole.
func (a *Activities) recordRun(ctx context.Context, of Of, schedule string) error {
	if of.Team != "" {
		return nil
	}
	return a.Store.RecordRun(ctx, schedule)
}
