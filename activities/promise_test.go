package activities

import (
	"strings"
	"testing"

	"myao/internal/conversation"
	"myao/internal/sandbox"
)

// Whoever asked is forgotten while a conversation has the promise: nothing is said, and nothing goes on.
func TestForgottenPromise(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task := inThread(b.say("remind me"))
	task.Occasion = conversation.PromiseKey("gone", 1)
	if got, err := runOnce[CheckOutput](b.CheckPromise, CheckInput{task}); err != nil || got.Result != conversation.CheckOver {
		t.Errorf("checked: %+v, %v", got, err)
	}
	for _, notice := range []bool{false, true} {
		if got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: true, Notice: notice}); err != nil || got.Result != conversation.Gone {
			t.Errorf("composed: %+v, %v", got, err)
		}
	}
	b.compose(task, "You asked me.") // before it was forgotten
	b.workspace.Faults().Add(sandbox.Fault{Method: postMessage, Error: "is_archived"})
	_, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task, Addressed: true})
	if app := applicationError(t, err); !app.NonRetryable() || !strings.Contains(app.Message(), "is_archived") {
		t.Errorf("posted: %v", app)
	}
	if got, err := runOnce[EndPromiseOutput](b.EndPromise, EndPromiseInput{Conversation: task.Conversation, Promise: "gone", Number: 1, End: conversation.NotKept}); err != nil || !got.Next.IsZero() {
		t.Errorf("ended: %+v, %v", got, err)
	}
}
