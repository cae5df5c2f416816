package activities

import (
	"testing"
	"time"

	"myao/internal/conversation"
	"myao/internal/store"
	"myao/sandbox/workspace"
)

// postCalls counts the calls of chat.postMessage.
func (b *bundle) postCalls() int { return len(b.Workspace.Calls(postMessage)) }

// PostAtOnce posts a reply of one part that was not attempted and need not wait. It leaves any other
// reply to Post.
func TestPostAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(b *bundle, task Task)
		want    conversation.Result
	}{
		"of one part": {func(b *bundle, task Task) { b.compose(task, "Hello.") }, conversation.Done},
		"posted already": {func(b *bundle, task Task) {
			b.compose(task, "Hello.")
			if got, err := runOnce[ReplyOutput](b.PostAtOnce, PostInput{Task: task}); err != nil || got.Result != conversation.Done {
				b.Errorf("the first time: got %+v, %v", got, err)
			}
		}, ""},
		"in two parts": {func(b *bundle, task Task) { b.compose(task, "Hello.", "And more.") }, ""},
		"tried before": {func(b *bundle, task Task) {
			b.compose(task, "Hello.")
			p := b.outbox(task)[0]
			if wait, err := b.Store.BeginSend(b.Context(), p, pace, sendLease); wait > 0 || err != nil {
				b.Fatal(wait, err)
			}
			if err := b.Store.EndSend(b.Context(), p, store.Composed, time.Time{}, "a limit"); err != nil {
				b.Fatal(err)
			}
		}, ""},
		"behind another": {func(b *bundle, task Task) {
			before := atTopLevel(b.say("hello first?"))
			before.Decision = "run/before"
			b.compose(before, "Hello.")
			if got, err := runOnce[ReplyOutput](b.PostAtOnce, PostInput{Task: before}); err != nil || got.Result != conversation.Done {
				b.Errorf("the one before: got %+v, %v", got, err)
			}
			b.compose(task, "Hello.")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			eachDatabase(t, func(t *testing.T, url option) {
				b := setup(t, url)
				task := inThread(b.say("hello?"))
				c.prepare(b, task)
				calls, posts := b.postCalls(), len(b.Workspace.Posts())
				got, err := runOnce[ReplyOutput](b.PostAtOnce, PostInput{Task: task})
				if err != nil || got.Result != c.want {
					t.Errorf("got %+v, %v, want %q", got, err, c.want)
				}
				if n := b.postCalls() - calls; (n == 1) != (c.want == conversation.Done) || n > 1 {
					t.Errorf("Slack was called %d times", n)
				}
				if got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task}); got.Result != conversation.Done || len(errs) > 0 {
					t.Errorf("after that: got %+v, %v", got, errs)
				}
				want := len(b.outbox(task))
				if name == "posted already" {
					want = 0
				}
				if n := len(b.Workspace.Posts()) - posts; n != want {
					t.Errorf("%d posts, want %d", n, want)
				}
				if d := b.decision(task); d.Outcome != "posted" {
					t.Errorf("the ledger has %+v", d)
				}
			})
		})
	}
}

// Post honours a rate limit that PostAtOnce met.
func TestRateLimitOfPostAtOnceHoldsForPost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Times: 1, Status: 429, RetryAfter: "30"})
	_, err := runOnce[ReplyOutput](b.PostAtOnce, PostInput{Task: task})
	if app := applicationError(t, err); app.NextRetryDelay() != 30*time.Second || app.Type() != typeRateLimited {
		t.Errorf("got %v after %s", app, app.NextRetryDelay())
	}
	calls := b.postCalls()
	_, err = runOnce[ReplyOutput](b.Post, PostInput{Task: task, NotBefore: time.Now().Add(9 * time.Minute)})
	if app := applicationError(t, err); app.NextRetryDelay() <= time.Minute || app.NextRetryDelay() > 9*time.Minute || app.NonRetryable() || app.Type() != typeRateLimited {
		t.Errorf("too early: got %v after %s", app, app.NextRetryDelay())
	}
	if n := b.postCalls() - calls; n != 0 {
		t.Errorf("too early, Slack was called %d times", n)
	}
	got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task, NotBefore: time.Now().Add(-time.Second)})
	b.wantPostedOnce(task, got, errs, 0)
}
