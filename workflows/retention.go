package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
)

// Retention deletes what is not kept any longer. What is not done in an hour is the next
// run's.
func Retention(ctx workflow.Context) (out activities.PruneOutput, err error) {
	err = workflow.ExecuteActivity(background(ctx, time.Hour, "delete what is not kept any longer"), do.Prune).Get(ctx, &out)
	return out, err
}
