package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"myao/activities"
)

// Of is the input of a job for one workspace. Its zero value is the workspace of slack.bot_token.
type Of = activities.Of

// background has the options of an activity that nobody waits for. Where the server knows
// priorities, it runs after those of conversations. Its retries are bounded, because the
// schedule starts the workflow again.
func background(ctx workflow.Context, attempt time.Duration, summary string) workflow.Context {
	o := activityOptions(attempt, time.Hour, summary)
	o.RetryPolicy.MaximumAttempts = 10
	o.Priority = temporal.Priority{PriorityKey: 5}
	return workflow.WithActivityOptions(ctx, o)
}

// forEach calls a function for each item, at most limit at a time. It returns when all are
// done, or when the context ends.
func forEach[T any](ctx workflow.Context, items []T, limit int, do func(workflow.Context, T)) error {
	next := 0
	workers := workflow.NewWaitGroup(ctx)
	for range min(limit, len(items)) {
		workers.Go(ctx, func(ctx workflow.Context) {
			for next < len(items) && ctx.Err() == nil {
				item := items[next]
				next++
				do(ctx, item)
			}
		})
	}
	workers.Wait(ctx)
	return ctx.Err()
}
