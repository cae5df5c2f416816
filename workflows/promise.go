package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/conversation"
)

// check asks what is to be done about a promise that is due. Where no answer can be had, it is kept.
func (r *conversationRun) check(e conversation.Check) {
	in := activities.CheckInput{Task: r.task(e.About)}
	r.start(modelOptions("look whether a promise is still wanted"), do.CheckPromise, in,
		func(f workflow.Future) conversation.Event {
			var out activities.CheckOutput
			if err := f.Get(r.ctx, &out); err != nil {
				workflow.GetLogger(r.ctx).Warn("promise not checked", "trigger", e.Trigger.TS, "error", err)
				out.Result = conversation.CheckPlain
			}
			return conversation.Checked{Epoch: e.Epoch, Result: out.Result, Until: out.Until, Number: out.Number,
				By: out.By, Verdict: out.Verdict}
		})
}

// endPromise records what has become of a promise, beside the other work. If that fails for good, the row
// stays open, and the relay hands the promise over again.
func (r *conversationRun) endPromise(e conversation.EndPromise) {
	if slices.ContainsFunc(r.acts, func(p workPart) bool { return p.id == e.ID }) {
		return
	}
	ctx := workflow.WithActivityOptions(r.ctx, activityOptions(30*time.Second, 24*time.Hour,
		"record a promise as "+string(e.End)))
	in := activities.EndPromiseInput{Conversation: r.in.Conversation, Trigger: e.TS, Promise: e.ID, Number: e.Number,
		End: e.End, By: e.By}
	r.acts = append(r.acts, workPart{id: e.ID, future: workflow.ExecuteActivity(ctx, do.EndPromise, in),
		result: func(f workflow.Future) conversation.Event {
			var out activities.EndPromiseOutput
			if err := f.Get(r.ctx, &out); err != nil {
				workflow.GetLogger(r.ctx).Error("end of a promise not recorded", "trigger", e.TS, "promise", e.ID,
					"error", err)
			}
			return conversation.PromiseEnded{ID: e.ID, Number: e.Number, Next: out.Next}
		}})
}
