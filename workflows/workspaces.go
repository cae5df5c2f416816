package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"myao/activities"
)

// EachWorkspaceInput says which job is to be done for every workspace that needs it.
type EachWorkspaceInput struct {
	// Job is the name of the job's workflow.
	Job string `json:"job"`
	// MaxConcurrent and PauseSeconds are those of Memory and CatchUp.
	MaxConcurrent int `json:"max_concurrent,omitempty"`
	PauseSeconds  int `json:"pause_seconds,omitempty"`
	// After is the team after which the run goes on. The schedule leaves it empty.
	After string              `json:"after,omitempty"`
	Done  EachWorkspaceOutput `json:"done"`
}

// EachWorkspaceOutput counts workspaces.
type EachWorkspaceOutput struct {
	Workspaces int `json:"workspaces"`
	// Failed counts those whose job failed; the next run tries them again.
	Failed int `json:"failed,omitempty"`
}

// workspacesAtOnce is for how many workspaces a job is done at a time.
const workspacesAtOnce = 4

// EachWorkspace does a job for every workspace that needs it, a page of them after the other. What fails in one stops
// no other. A workspace in which nothing has happened costs nothing.
func EachWorkspace(ctx workflow.Context, in EachWorkspaceInput) (EachWorkspaceOutput, error) {
	for {
		var due activities.FindWorkspacesOutput
		request := activities.FindWorkspacesInput{Job: in.Job, After: in.After}
		if err := workflow.ExecuteActivity(background(ctx, time.Minute, "find workspaces"), do.FindWorkspaces, request).
			Get(ctx, &due); err != nil {
			return in.Done, err
		}
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d workspaces in this part; so far %d, %d failed", len(due.Teams),
			in.Done.Workspaces, in.Done.Failed))
		if err := forEach(ctx, due.Teams, workspacesAtOnce, func(ctx workflow.Context, team string) {
			ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
				WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID + "/" + team,
				Priority:   temporal.Priority{PriorityKey: 5, FairnessKey: team},
			})
			in.Done.Workspaces++
			if err := workflow.ExecuteChildWorkflow(ctx, in.Job, in.of(team)).Get(ctx, nil); err != nil {
				workflow.GetLogger(ctx).Error("job failed in a workspace", "job", in.Job, "team", team, "error", err)
				in.Done.Failed++
			}
		}); err != nil {
			return in.Done, err
		}
		if due.Next == "" {
			return in.Done, nil
		}
		if in.After = due.Next; shouldContinueAsNew(ctx) {
			return in.Done, continueAsNew(ctx, EachWorkspace, in)
		}
	}
}

// of is the job's input for a workspace.
func (in EachWorkspaceInput) of(team string) any {
	switch of := (Of{Team: team}); in.Job {
	case "Memory":
		return MemoryInput{Of: of, MaxConcurrent: in.MaxConcurrent}
	case "CatchUp":
		return CatchUpInput{Of: of, PauseSeconds: in.PauseSeconds}
	default:
		return of
	}
}
