package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/conversation"
	"myao/internal/operate/choice"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
	"myao/internal/store"
)

// PostInput asks for a composed reply to be posted.
type PostInput struct {
	Task
	// Addressed asks for a note in place of a reply that Slack refuses.
	Addressed bool `json:"addressed,omitempty"`
	// NotBefore is the end of a rate limit, or zero.
	NotBefore time.Time `json:"not_before,omitzero"`
}

// refusedReason is the ledger's reason for a note in place of a reply that Slack refused.
const refusedReason = "Slack refused the answer, and was given a short note instead"

// elsewhereReason is the ledger's reason for a promise that was kept in a direct message.
const elsewhereReason = "it could not be posted where it was promised, so whoever asked was told in a direct message"

// PostAtOnce posts a composed reply of one part that was not attempted yet and need not wait.
// Most replies are such. It waits only for Slack. Its result is empty if it posted nothing. Post
// does whatever PostAtOnce leaves undone.
func (a *Activities) PostAtOnce(ctx context.Context, in PostInput) (ReplyOutput, error) {
	began := a.Clock()
	if !a.AtOnce.allowed(began) {
		return ReplyOutput{}, nil
	}
	result, p, err := a.postAtOnce(ctx, in.Task)
	if p != nil || err != nil { // else Slack was not asked
		a.AtOnce.ended(began, a.Clock())
	}
	if err != nil {
		return ReplyOutput{}, classify(fmt.Errorf("post at once: %w", err))
	}
	return a.opened(ctx, in.Task, result, p != nil && p.Proposes)
}

// Post posts each part of a composed reply once, in order. It may be retried after anything, even a
// crash: a part of unknown outcome is looked up in Slack before it is posted again.
func (a *Activities) Post(ctx context.Context, in PostInput) (ReplyOutput, error) {
	if wait := in.NotBefore.Sub(a.Clock()); wait > 0 {
		return ReplyOutput{}, classify(&slack.Error{Kind: slack.RateLimited, Method: "chat.postMessage",
			Code: "ratelimited", RetryAfter: wait})
	}
	ctx, stop := heartbeat(ctx)
	defer stop()
	post := a.postReply
	if in.Addressed {
		post = a.postReadable
	}
	result, proposes, err := post(ctx, in.Task)
	if in.Addressed && (result == conversation.Failed || refusedBySlack(err)) {
		result, err = a.postNote(ctx, in.Task, result, err)
		proposes = false
	}
	if err != nil {
		return ReplyOutput{}, classify(fmt.Errorf("post: %w", err))
	}
	if result != conversation.Done {
		a.notPosted(in.Task, in.Addressed)
	}
	return a.opened(ctx, in.Task, result, proposes)
}

// refusedBySlack reports whether Slack refused a request for good.
func refusedBySlack(err error) bool {
	e, ok := errors.AsType[*slack.Error](err)
	return ok && e.Kind == slack.Final
}

// postNote posts a note that the bot cannot answer, in place of a reply that ended with result and
// cause: Slack may have refused its text. If Slack refuses the note, too, that is the end. There is
// no note if a part of the reply was posted. A promise is kept in its own words and, if these are refused as
// well, in a direct message to whoever asked.
func (a *Activities) postNote(ctx context.Context, t Task, result conversation.Result,
	cause error) (conversation.Result, error) {
	note := a.Agents.Prompts.Notice(prompt.Unanswered)
	about, err := a.subjectOf(ctx, t.Occasion)
	switch {
	case err != nil:
		return "", err
	case !about.isNothing():
		note = a.plainly(about)
	case t.hasOccasion(): // and forgotten since
		return result, cause
	}
	again, err := a.postInstead(ctx, t, store.Notice{Text: note, Reason: refusedReason}, result, cause)
	promise := about.promise
	if promise == nil || promise.Asker == "" || again != conversation.Failed && !refusedBySlack(err) {
		return again, err
	}
	direct, failed := a.Slack.OpenDirect(ctx, promise.Asker)
	if failed != nil {
		return again, failed
	}
	return a.postInstead(ctx, t, store.Notice{Text: choice.PromiseElsewhere(a.words(), *promise,
		a.promiseText(*promise)), Reason: elsewhereReason, Channel: direct}, again, err)
}

// postInstead posts a note in place of a refused reply, which ended with result and cause. If there is
// nothing to replace, that stays the end.
func (a *Activities) postInstead(ctx context.Context, t Task, n store.Notice, result conversation.Result,
	cause error) (conversation.Result, error) {
	replaced, err := a.Store.ReplaceWithNotice(ctx, t.replyKey(), n)
	if err != nil {
		return "", err
	}
	if !replaced {
		return result, cause
	}
	result, _, err = a.postReadable(ctx, t)
	return result, err
}

// postReply posts what is in the outbox, and reports whether proposals stand under it.
func (a *Activities) postReply(ctx context.Context, t Task) (result conversation.Result, proposes bool, err error) {
	if result, p, err := a.postAtOnce(ctx, t); err != nil || result != "" {
		return result, p != nil && p.Proposes, err
	}
	parts, err := a.Store.Parts(ctx, t.replyKey())
	if err != nil {
		return "", false, err
	}
	if len(parts) == 0 {
		return "", false, final(fmt.Errorf("reply %s is not in the outbox", t.replyKey()))
	}
	last := parts[len(parts)-1]
	for _, p := range parts {
		switch result, by, err := a.postPart(ctx, p, p.Number == last.Number); {
		case err != nil:
			return "", false, err
		case result != conversation.Done:
			return result, false, a.settle(ctx, t, p.Decision, outcomeOf(result), by)
		}
	}
	return conversation.Done, last.Proposes, a.settleSent(ctx, t, last)
}

// settleSent saves the outcome of a posted reply, unless posting its last part did. last is that part
// as it was before.
func (a *Activities) settleSent(ctx context.Context, t Task, last store.Part) error {
	if last.State != store.Sent && last.Decision == t.decisionKey() {
		return nil // markSent has settled it
	}
	return a.settle(ctx, t, last.Decision, conversation.OutcomePosted, t.replyKey())
}

// postAtOnce posts a reply of one part that was not attempted yet and need not wait. It needs one query
// to know that. Otherwise it does nothing and the result is empty. p is the part as it was before.
func (a *Activities) postAtOnce(ctx context.Context, t Task) (result conversation.Result, p *store.Part, err error) {
	send, done := timeout.After(ctx, sendTimeout) // begins before the lease and ends before it
	defer done()
	p, err = a.Store.BeginReply(send, t.replyKey(), pace, sendLease)
	if err != nil || p == nil {
		return "", nil, err
	}
	if err := a.send(ctx, send, *p, true); err != nil {
		return "", nil, err
	}
	return conversation.Done, p, a.settleSent(ctx, t, *p)
}

// settle saves the outcome of the decision that composed a reply. After a reset of the workflow the
// task may have another decision for the same reply. That decision had nothing to post.
func (a *Activities) settle(ctx context.Context, t Task, by string, outcome conversation.Outcome, why string) error {
	if err := a.Store.Settle(ctx, by, outcome, why); err != nil || by == t.decisionKey() {
		return err
	}
	if outcome == conversation.OutcomePosted {
		outcome = conversation.Silent
	}
	return a.Store.Settle(ctx, t.decisionKey(), outcome, why)
}

// outcomeOf returns the ledger's outcome of a reply that was not posted, or not completely.
func outcomeOf(r conversation.Result) conversation.Outcome {
	switch r {
	case conversation.Gone, conversation.Outdated:
		return conversation.Withdrawn
	case conversation.Silenced:
		return conversation.Silent
	default:
		return conversation.OutcomeFailed
	}
}
