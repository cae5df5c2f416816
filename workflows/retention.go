package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
)

// Retention deletes expired data. What it cannot delete within an hour is left to the next run.
func Retention(ctx workflow.Context, in Of) (out activities.PruneOutput, err error) {
	err = workflow.ExecuteActivity(background(ctx, time.Hour, "delete what is not kept any longer"), do.Prune, in).
		Get(ctx, &out)
	return out, err
}
