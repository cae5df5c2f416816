package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/conversation"
)

// work is the activities whose results the policy waits for. Only a look has several.
type work struct {
	parts  []workPart
	cancel workflow.CancelFunc
}

// detached is the record of something in the ledger, or the update of a message.
type detached struct {
	what, trigger string
	future        workflow.Future
}

type workPart struct {
	id     string // of the proposal for an approved call, of the promise for its end
	future workflow.Future
	// result converts the activity's result into an event; nil where other work continues it.
	result func(workflow.Future) conversation.Event
}

// ready is the index of a part that has ended, or -1.
func (w *work) ready() int {
	if w == nil {
		return -1
	}
	return firstReady(w.parts)
}

func firstReady(parts []workPart) int {
	return slices.IndexFunc(parts, func(p workPart) bool { return p.future.IsReady() })
}

// collectResults applies the result of the work in flight, and of work that follows it at once. It takes in whatever
// else await waits for, or that would not block again.
func (r *conversationRun) collectResults() {
	for i := r.work.ready(); i >= 0; i = r.work.ready() {
		done := r.work.parts[i]
		if r.work.parts = slices.Delete(r.work.parts, i, i+1); len(r.work.parts) == 0 {
			r.work = nil
		}
		if e := done.result(done.future); e != nil {
			r.apply(e)
		}
	}
	for i := firstReady(r.acts); i >= 0; i = firstReady(r.acts) {
		done := r.acts[i]
		r.acts = slices.Delete(r.acts, i, i+1)
		r.apply(done.result(done.future))
	}
	r.collectDetached()
	r.timer.clearFired()
}

// collectDetached forgets what has ended of the detached work, the oldest first. The ledger lacks what failed, so the
// log has it.
func (r *conversationRun) collectDetached() {
	for len(r.detached) > 0 && r.detached[0].future.IsReady() {
		d := r.detached[0]
		r.detached = r.detached[1:]
		if err := d.future.Get(r.ctx, nil); err != nil {
			workflow.GetLogger(r.ctx).Error(d.what+" failed", "trigger", d.trigger, "error", err)
		}
	}
}

// detach has an activity run that the conversation does not wait for.
func (r *conversationRun) detach(ctx workflow.Context, what, trigger string, activity, in any) {
	r.detached = append(r.detached, detached{what, trigger, workflow.ExecuteActivity(ctx, activity, in)})
}

func (r *conversationRun) start(o workflow.ActivityOptions, activity, in any,
	result func(workflow.Future) conversation.Event) {
	r.failure = ""
	ctx, cancel := workflow.WithCancel(workflow.WithActivityOptions(r.ctx, o))
	r.work = &work{cancel: cancel,
		parts: []workPart{{future: workflow.ExecuteActivity(ctx, activity, in), result: result}}}
}

var do *activities.Activities // names the activities; never called
