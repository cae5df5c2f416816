package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"myao/internal/answer/agents"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
)

// Task names what an activity works on: a message, and the decision about it.
type Task struct {
	Conversation chat.Conversation `json:"conversation"`
	Trigger      string            `json:"trigger"` // ts of the message
	Revision     string            `json:"revision,omitempty"`
	Decision     string            `json:"decision"`
	Epoch        int               `json:"epoch"` // of the decision
	// Occasion is zero for a judgment of messages, and for a reply to some.
	Occasion conversation.Occasion `json:"occasion,omitzero"`
}

// Workspace implements Input.
func (t Task) Workspace() string { return t.Conversation.Team }

// Subject returns the ts of the message, for logs and traces.
func (t Task) Subject() string { return t.Trigger }

// hasOccasion reports whether a reply is for an occasion.
func (t Task) hasOccasion() bool { return t.Occasion != conversation.Occasion{} }

// replyKey names the reply to the trigger in the outbox. It does not depend on the run, so that a
// reset workflow posts nothing again.
func (t Task) replyKey() string {
	c := t.Conversation
	key := c.Team + "/" + c.Channel + "/" + c.Thread + "/" + t.Trigger + "/" + t.Revision
	if t.hasOccasion() {
		key += "/" + t.Occasion.String()
	}
	return key
}

// decisionKey names the decision in the ledger. It contains the trigger, because a reset workflow
// counts its decisions from the same number again, perhaps about other messages.
func (t Task) decisionKey() string {
	key := t.Decision + "/" + t.Trigger
	if t.Revision != "" {
		key += "/" + t.Revision
	}
	if t.hasOccasion() {
		key += "/" + t.Occasion.String()
	}
	return key
}

// decisionRow returns a row of the ledger with what the task says.
func (t Task) decisionRow(source string) store.Decision {
	return store.Decision{
		Key: t.decisionKey(), WorkflowID: t.Conversation.ID(), TriggerTS: t.Trigger, Revision: t.Revision,
		Source: source,
	}
}

// setCost sets which model a decision asked, and what that cost.
func setCost(d *store.Decision, answer agents.Answer) {
	d.Model, d.TokensIn, d.TokensOut = answer.Model, answer.Usage.Input, answer.Usage.Output
}

// attemptOf tells package agents for which decision, and in which attempt, an activity asks a model.
func attemptOf(ctx context.Context, t Task) agents.Attempt {
	return agents.Attempt{Decision: t.decisionKey(), Number: attemptNumber(ctx), LeavesFiles: progressOf(ctx).Lost > 0}
}

// attemptNumber is 1 for the first attempt, and outside activities.
func attemptNumber(ctx context.Context) int {
	if !activity.IsActivity(ctx) {
		return 1
	}
	return int(activity.GetInfo(ctx).Attempt)
}
