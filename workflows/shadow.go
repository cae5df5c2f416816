package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/conversation"
)

// maxSnapshots is how many snapshots a run handles; the next one goes on.
const maxSnapshots = 200

// Shadow asks other judges what they would have decided, one judgment after the other. It returns how many
// judgments it has handled. A judge that does not answer is left alone until the next run.
func Shadow(ctx workflow.Context, of Of) (handled int, err error) {
	ctx = workflow.WithTaskQueue(background(ctx, 10*time.Minute, "ask other judges"), conversation.ModelTaskQueue)
	in := activities.ShadowInput{Of: of}
	for handled < maxSnapshots {
		var out activities.ShadowOutput
		if err := workflow.ExecuteActivity(ctx, do.AskShadow, in).Get(ctx, &out); err != nil || out.Done {
			return handled, err
		}
		handled++
		in.Without = append(in.Without, out.Silent...)
	}
	return handled, nil
}
