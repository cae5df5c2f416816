package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/chat"
)

// readingEnds is how long a model's work on messages that are gone may still write down something
// of them: until the relay has told the conversation, and a heartbeat the activity.
const readingEnds = 10 * time.Second

// ForgetPerson takes a person out of the database at their own order, and tells them when it is
// done.
func ForgetPerson(ctx workflow.Context, p chat.Person) error {
	in := activities.ForgetPersonInput{Person: p, ID: "person/" + workflow.GetInfo(ctx).WorkflowExecution.RunID}
	o := activityOptions(24*time.Hour, 7*24*time.Hour, "take a person out of the database")
	o.Priority = temporal.Priority{PriorityKey: 5}
	forget := workflow.WithActivityOptions(ctx, o)
	if err := workflow.ExecuteActivity(forget, do.ForgetPerson, in).Get(ctx, nil); err != nil {
		return err
	}
	if err := workflow.Sleep(ctx, readingEnds); err != nil {
		return err
	}
	if err := workflow.ExecuteActivity(forget, do.ForgetPerson, in).Get(ctx, nil); err != nil {
		return err
	}
	tell := workflow.WithActivityOptions(ctx, activityOptions(time.Minute, 24*time.Hour, "tell the person"))
	return workflow.ExecuteActivity(tell, do.TellForgotten, in).Get(ctx, nil)
}
