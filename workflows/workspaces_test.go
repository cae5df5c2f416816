package workflows

import (
	"context"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
)

// A job is done for each workspace that needs it, in a workflow of its own with the workspace's share. One that fails
// stops no other, and a page that cannot be read, those after it until the next run.
func TestEachWorkspace(t *testing.T) {
	t.Parallel()
	pages := map[string]activities.FindWorkspacesOutput{
		"": {Teams: []string{"T1", "T2", "T3", "T4", "T5"}, Next: "T5"}, "T5": {Teams: []string{"T6"}},
	}
	run := func(t *testing.T, in EachWorkspaceInput, suggested bool, fails ...string) (*backgroundEnv, error) {
		t.Helper()
		c := newBackgroundEnv(t, workspace{fails: refuses(fails...)})
		c.SetContinueAsNewSuggested(suggested)
		c.register("FindWorkspaces", func(ctx context.Context,
			in activities.FindWorkspacesInput) (activities.FindWorkspacesOutput, error) {
			return during(ctx, c, "find "+in.Job+" after "+in.After, pages[in.After], 0)
		})
		var mu sync.Mutex
		c.RegisterWorkflowWithOptions(func(ctx workflow.Context, in Of) error {
			info := workflow.GetInfo(ctx)
			what := "sync " + in.Team
			if !strings.HasSuffix(info.WorkflowExecution.ID, "/"+in.Team) {
				what += " as " + info.WorkflowExecution.ID
			}
			mu.Lock()
			c.record = append(c.record, line{what: what})
			mu.Unlock()
			return c.of.fails(what, 1)
		}, workflow.RegisterOptions{Name: "ChannelSync"})
		return c, c.run(EachWorkspace, in)
	}
	wants := func(c *backgroundEnv, done ...string) {
		for i, what := range done {
			done[i] = "0s " + what
		}
		c.wants(done...)
	}
	in := EachWorkspaceInput{Job: "ChannelSync"}
	first, all := "find ChannelSync after ", []string{"sync T1", "sync T2", "sync T3", "sync T4", "sync T5"}
	t.Run("two pages", func(t *testing.T) {
		c, err := run(t, in, false, "sync T2")
		if err != nil {
			t.Fatal(err)
		}
		wants(c, append([]string{first, first + "T5"}, append(all, "sync T6")...)...)
		returned(t, c, EachWorkspaceOutput{Workspaces: 6, Failed: 1})
	})
	t.Run("as new", func(t *testing.T) {
		c, err := run(t, in, true, "sync T2")
		next := continuedInput[EachWorkspaceInput](t, err, "EachWorkspace")
		wants(c, append([]string{first}, all...)...)
		c, err = run(t, next, true)
		if err != nil {
			t.Fatal(err)
		}
		wants(c, first+"T5", "sync T6")
		returned(t, c, EachWorkspaceOutput{Workspaces: 6, Failed: 1})
	})
	t.Run("a page fails", func(t *testing.T) {
		c, err := run(t, in, false, first+"T5")
		if err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("ended with %v", err)
		}
		wants(c, append([]string{first, first + "T5"}, all...)...)
	})
}
