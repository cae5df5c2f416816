package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/conversation"
)

func (r *conversationRun) task(about conversation.About) activities.Task {
	return activities.Task{
		Conversation: r.in.Conversation, Trigger: about.Trigger.TS, Revision: about.Trigger.Revision,
		Decision: r.decisionKey(about.Epoch), Epoch: about.Epoch, Occasion: about.Occasion,
	}
}

// judge starts a judgment. A failed one is silence.
func (r *conversationRun) judge(e conversation.Judge) {
	in := activities.JudgeInput{Task: r.task(e.About), MaxDelay: r.state.Policy.MaxDelay,
		Pending: r.state.PendingTS()}
	r.start(modelOptions("judge message "+e.Trigger.TS), do.Judge, in, func(f workflow.Future) conversation.Event {
		var out activities.JudgeOutput
		if err := f.Get(r.ctx, &out); err != nil {
			workflow.GetLogger(r.ctx).Warn("no judgment", "trigger", e.Trigger.TS, "error", err)
			r.failure = message(err)
			return conversation.Judged{Epoch: e.Epoch, Failed: true}
		}
		return conversation.Judged{Epoch: e.Epoch, Verdict: out.Verdict, Gone: out.Rule == conversation.RuleNothingLeft}
	})
}

func (r *conversationRun) compose(e conversation.Compose) {
	in := activities.ComposeInput{
		Task: r.task(e.About), Addressed: e.Addressed, Notice: e.Notice, Stop: e.Stop,
		Ordered: e.Ordered, Oldest: e.Oldest, Round: e.Round, Until: e.Until,
	}
	o := modelOptions("compose reply to " + e.Trigger.TS)
	switch {
	case e.Stop != conversation.NoStop: // calls no model, as below
		o = activityOptions(time.Minute, 12*time.Hour, "answer the stop "+e.Trigger.TS)
	case e.Notice:
		o = activityOptions(time.Minute, 12*time.Hour, "say that there is no answer to "+e.Trigger.TS)
	}
	o.Priority = replyPriority(e.About)
	r.start(o, do.Compose, in, func(f workflow.Future) conversation.Event {
		var out activities.ReplyOutput
		if err := f.Get(r.ctx, &out); err != nil {
			workflow.GetLogger(r.ctx).Warn("no reply composed", "trigger", e.Trigger.TS, "error", err)
			r.failure = message(err)
			return conversation.Composed{Epoch: e.Epoch, Round: e.Round, Result: conversation.Failed}
		}
		return conversation.Composed{Epoch: e.Epoch, Round: e.Round, Result: out.Result, By: out.By, Steps: out.Steps}
	})
}

// look executes the steps that are not done, side by side, each by an activity of its own. A step that
// fails for good is one without a result, which the next round tells the model. Its attempts are bounded
// by the activity; the total bounds the time without a worker.
func (r *conversationRun) look(e conversation.Look) {
	r.failure = ""
	ctx, cancel := workflow.WithCancel(r.ctx)
	r.work = &work{cancel: cancel}
	for _, step := range r.state.Steps {
		if step.Done {
			continue
		}
		o := activityOptions(30*time.Second, 10*time.Minute, step.Tool)
		o.TaskQueue, o.Priority = conversation.ToolsTaskQueue, replyPriority(e.About)
		in := activities.LookInput{Task: r.task(e.About), Step: step.ID,
			Addressed: e.Addressed}
		r.work.parts = append(r.work.parts,
			workPart{future: workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), do.Look, in),
				result: func(f workflow.Future) conversation.Event {
					if err := f.Get(r.ctx, nil); err != nil {
						workflow.GetLogger(r.ctx).Warn("step not done", "trigger", e.Trigger.TS, "tool", step.Tool,
							"error", err)
					}
					return conversation.Looked{Epoch: e.Epoch, Step: step.ID}
				}})
	}
}

// post first tries a local activity, within this workflow task. That saves the server a third
// of its work for a reply, and the reader a round trip. If the reply is not posted so, an
// activity on the queue continues, where it may wait and be retried.
func (r *conversationRun) post(e conversation.Post) {
	in := activities.PostInput{Task: r.task(e.About), Addressed: e.Addressed}
	ctx := workflow.WithLocalActivityOptions(r.ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: 15 * time.Second, // Slack may take eight seconds, and recording the end five
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             "post reply to " + e.Trigger.TS,
	})
	r.failure = ""
	r.work = &work{cancel: func() {}, parts: []workPart{{future: workflow.ExecuteLocalActivity(ctx, do.PostAtOnce, in),
		result: func(f workflow.Future) conversation.Event {
			var out activities.ReplyOutput
			err := f.Get(r.ctx, &out)
			switch {
			case err != nil:
				workflow.GetLogger(r.ctx).Warn("reply not posted at once", "trigger", e.Trigger.TS, "error", err)
			case out.Result != "":
				return conversation.Posted{Epoch: e.Epoch, Result: out.Result, Opened: out.Opened,
					Promised: out.Promised}
			}
			if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.NextRetryDelay() > 0 {
				in.NotBefore = r.now().Add(failed.NextRetryDelay())
			}
			r.postFromQueue(e, in)
			return nil
		}}}}
}

// postFromQueue tries for longer when somebody waits for the answer: a late answer is better
// than none to them, and worse than none to anybody else. An attempt may be long too: it may
// look for an earlier post of unknown outcome, and it posts all parts of a reply.
func (r *conversationRun) postFromQueue(e conversation.Post, in activities.PostInput) {
	total := time.Hour
	if e.Addressed {
		total = 12 * time.Hour
	}
	o := activityOptions(10*time.Minute, total, "post reply to "+e.Trigger.TS)
	o.Priority = replyPriority(e.About)
	r.start(o, do.Post, in, func(f workflow.Future) conversation.Event {
		var out activities.ReplyOutput
		if err := f.Get(r.ctx, &out); err != nil {
			workflow.GetLogger(r.ctx).Error("reply not posted", "trigger", e.Trigger.TS, "error", err)
			r.failure = message(err)
			return conversation.Posted{Epoch: e.Epoch, Result: conversation.Failed}
		}
		return conversation.Posted{Epoch: e.Epoch, Result: out.Result, Opened: out.Opened, Promised: out.Promised}
	})
}

// message is the activity's own error message, without what Temporal adds.
func message(err error) string {
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return failed.Message()
	}
	return err.Error()
}

// settle records the outcome of a decision. The conversation does not wait for it.
func (r *conversationRun) settle(e conversation.Settle) {
	ctx := workflow.WithActivityOptions(r.ctx, activityOptions(10*time.Second, time.Hour,
		"write down: "+string(e.Outcome)))
	in := activities.SettleInput{
		Task: r.task(e.About), Addressed: e.Addressed, Outcome: e.Outcome, By: e.By,
	}
	if e.Outcome == conversation.OutcomeFailed {
		in.By = r.failure
	}
	r.detach(ctx, "write down the outcome "+string(e.Outcome), e.Trigger.TS, do.Settle, in)
}
