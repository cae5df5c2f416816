package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// background is how an activity is tried that nobody waits for: after every
// conversation's own, where the server knows priorities, and not for ever, since
// the schedule comes round again.
func background(ctx workflow.Context, attempt time.Duration, summary string) workflow.Context {
	o := patience(attempt, time.Hour, summary)
	o.RetryPolicy.MaximumAttempts = 10
	o.Priority = temporal.Priority{PriorityKey: 5}
	return workflow.WithActivityOptions(ctx, o)
}

// each does something with every item, at most atOnce of them side by side, and
// returns when all are done, or when the context ends.
func each[T any](ctx workflow.Context, items []T, atOnce int, with func(workflow.Context, T)) error {
	next := 0
	workers := workflow.NewWaitGroup(ctx)
	for range min(atOnce, len(items)) {
		workers.Go(ctx, func(ctx workflow.Context) {
			for next < len(items) && ctx.Err() == nil {
				item := items[next]
				next++
				with(ctx, item)
			}
		})
	}
	workers.Wait(ctx)
	return ctx.Err()
}
