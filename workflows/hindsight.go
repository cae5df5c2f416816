package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
)

// Hindsight labels the judgments of yesterday by what followed them. What it cannot do within half an hour is
// left to the next run.
func Hindsight(ctx workflow.Context, in Of) (out activities.LabelDecisionsOutput, err error) {
	err = workflow.ExecuteActivity(background(ctx, 30*time.Minute, "label what was decided a day ago"),
		do.LabelDecisions, in).Get(ctx, &out)
	return out, err
}
