package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
)

// Introduction posts the message by which the bot introduces itself in a channel.
func Introduction(ctx workflow.Context, in activities.IntroduceInput) error {
	post := workflow.WithActivityOptions(ctx, activityOptions(time.Minute, 24*time.Hour, "introduce itself"))
	return workflow.ExecuteActivity(post, do.Introduce, in).Get(ctx, nil)
}
