package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/conversation"
)

// act makes an approved call, beside the other work and uncancelled. The database sees to it that it is
// made once, so an attempt may follow another one. One that is in flight is left alone: a second activity
// would find that it has begun, and take its worker for dead.
func (r *conversationRun) act(e conversation.Act) {
	if slices.ContainsFunc(r.acts, func(p workPart) bool { return p.id == e.ID }) {
		return
	}
	o := activityOptions(2*time.Minute, 24*time.Hour, "do what was approved")
	o.TaskQueue, o.Priority = conversation.ToolsTaskQueue, replyPriority(conversation.About{Addressed: true})
	in := activities.ProposalInput{Conversation: r.in.Conversation, Trigger: e.TS, Proposal: e.ID}
	r.acts = append(r.acts, workPart{id: e.ID, future: workflow.ExecuteActivity(workflow.WithActivityOptions(r.ctx, o),
		do.Act, in), result: func(f workflow.Future) conversation.Event {
		var out activities.ActOutput
		if err := f.Get(r.ctx, &out); err != nil {
			workflow.GetLogger(r.ctx).Error("approved call not made", "trigger", e.TS, "proposal", e.ID, "error", err)
		}
		return conversation.Acted{ID: e.ID, Tell: out.Tell, Asker: out.Asker}
	}})
}

// showProposal has the message of a proposal or a promise show what has become of it. The conversation does not wait
// for it.
func (r *conversationRun) showProposal(e conversation.ShowProposal) {
	ctx := workflow.WithActivityOptions(r.ctx, activityOptions(30*time.Second, time.Hour,
		"show what became of a proposal"))
	in := activities.ProposalInput{Conversation: r.in.Conversation, Trigger: e.TS, Proposal: e.ID, Close: e.Close}
	r.detach(ctx, "show what became of a proposal", e.TS, do.ShowProposal, in)
}
