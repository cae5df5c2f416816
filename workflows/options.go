package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"myao/internal/conversation"
)

// activityOptions are the options of every activity. It heartbeats, so that a dead worker is
// noticed within seconds, and is retried until total is over.
func activityOptions(attempt, total time.Duration, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    attempt,
		ScheduleToCloseTimeout: total,
		HeartbeatTimeout:       10 * time.Second,
		Summary:                summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second,
		},
	}
}

// modelOptions are the options of an activity that calls a model: it has a task queue of its
// own. The activity itself decides when a model has failed too often. A missing worker or
// database is no failure of the model, so these retries last a day.
func modelOptions(summary string) workflow.ActivityOptions {
	o := activityOptions(2*time.Minute, 24*time.Hour, summary)
	o.TaskQueue = conversation.ModelTaskQueue
	return o
}

// replyPriority puts replies that somebody waits for first, where the server knows priorities: not those
// that keep a promise. Other activities inherit the workflow's priority, 3 by default. All inherit its
// fairness key, the channel.
func replyPriority(about conversation.About) temporal.Priority {
	if about.Addressed && about.Occasion.Promise == "" {
		return temporal.Priority{PriorityKey: 1}
	}
	return temporal.Priority{}
}
