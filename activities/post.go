package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/failpoint"
	"myao/internal/pause"
	"myao/internal/prompt"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/internal/telemetry"
)

const (
	// pace is Slack's "generally one message a second a channel" (docs.slack.dev/apis/web-api/rate-limits).
	pace = time.Second
	// sendTimeout is how long Slack is given for an attempt, which may take two calls.
	sendTimeout = 8 * time.Second
	// sendLease is how long an attempt may be under way, when nobody says how it ended:
	// the worker died. A dead worker shall not delay a reply by more than 15 s.
	sendLease = 12 * time.Second
	// settleTime is how long Slack is given, after an answer that tells nothing or an
	// end of the connection, to show what it has done.
	settleTime = 3 * time.Second
	// maxEffectDelay is how long after its beginning a call that we gave up waiting for may
	// still have its effect.
	maxEffectDelay = 30 * time.Second
	// lookupPause is the pause between two looks for a post.
	lookupPause = 2 * time.Second
	// maxTurnWait is the longest time that an attempt waits for its turn by itself, holding
	// one of the worker's slots: what would wait for longer ends, and comes again.
	maxTurnWait = 3 * time.Second
	// writeTimeout is how long the end of an attempt may take to be written down.
	writeTimeout = 5 * time.Second
)

// PostInput asks for a composed reply to be posted.
type PostInput struct {
	Task
	// Addressed has a note posted in place of a reply that Slack refuses.
	Addressed bool `json:"addressed,omitempty"`
	// NotBefore is until when Slack wants to be left alone; zero: it has not said so.
	NotBefore time.Time `json:"not_before,omitzero"`
}

// refusedReason is the ledger's reason for a note in place of a reply that Slack refused.
const refusedReason = "Slack refused the answer, and was given a short note instead"

// PostAtOnce posts a composed reply that is as most are: short, not tried yet, and its turn
// is now. It waits for nothing but Slack. Where it posts nothing the result is empty; and
// what it does not bring to its end, for that or any other reason, Post does.
func (a *Activities) PostAtOnce(ctx context.Context, in PostInput) (ReplyOutput, error) {
	result, err := a.postAtOnce(ctx, in.Task)
	if err != nil {
		return ReplyOutput{}, classify(fmt.Errorf("post at once: %w", err))
	}
	return ReplyOutput{Result: result}, nil
}

// Post brings a composed reply to Slack: each of its parts, in order, once. It
// may be tried again after anything, a crash included: what is not known to have
// failed is looked for in Slack before it is posted again.
func (a *Activities) Post(ctx context.Context, in PostInput) (ReplyOutput, error) {
	if wait := in.NotBefore.Sub(a.Clock()); wait > 0 {
		return ReplyOutput{}, classify(&slack.Error{Kind: slack.RateLimited, Method: "chat.postMessage", Code: "ratelimited", RetryAfter: wait})
	}
	ctx, stop := heartbeat(ctx)
	defer stop()
	result, err := a.postReply(ctx, in.Task)
	if in.Addressed && (result == conversation.Failed || refusedBySlack(err)) {
		result, err = a.postNote(ctx, in.Task, result, err)
	}
	if err != nil {
		return ReplyOutput{}, classify(fmt.Errorf("post: %w", err))
	}
	return ReplyOutput{Result: result}, nil
}

// refusedBySlack reports whether Slack has said no for good.
func refusedBySlack(err error) bool {
	e, ok := errors.AsType[*slack.Error](err)
	return ok && e.Kind == slack.Final
}

// postNote posts, in place of a reply that ended in result and cause, that there is no
// answer: it may be the text that Slack refuses. Where nothing can be posted the note is
// refused as well, and that is the end. Of a reply that is there in part nothing is said.
func (a *Activities) postNote(ctx context.Context, t Task, result conversation.Result, cause error) (conversation.Result, error) {
	excused, err := a.Store.ReplaceWithNotice(ctx, t.replyKey(), a.Mind.Prompts.Notice(prompt.Unanswered), refusedReason)
	if err != nil {
		return "", err
	}
	if !excused {
		return result, cause
	}
	return a.postReply(ctx, t)
}

func (a *Activities) postReply(ctx context.Context, t Task) (conversation.Result, error) {
	if result, err := a.postAtOnce(ctx, t); err != nil || result != "" {
		return result, err
	}
	parts, err := a.Store.Parts(ctx, t.replyKey())
	if err != nil {
		return "", err
	}
	if len(parts) == 0 {
		return "", final(fmt.Errorf("reply %s is not in the outbox", t.replyKey()))
	}
	last := parts[len(parts)-1]
	for _, p := range parts {
		switch result, by, err := a.postPart(ctx, p, p.Number == last.Number); {
		case err != nil:
			return "", err
		case result != conversation.Done:
			return result, a.settle(ctx, t, p.Decision, outcomeOf(result), by)
		}
	}
	return conversation.Done, a.finish(ctx, t, last)
}

// finish settles what remains of a reply that is posted, by its last part as it was found.
func (a *Activities) finish(ctx context.Context, t Task, last store.Part) error {
	if last.State != store.Sent && last.Decision == t.decisionKey() {
		return nil // settled when its last part was written down
	}
	return a.settle(ctx, t, last.Decision, conversation.Sent, t.replyKey())
}

// postAtOnce posts a reply, in one look at the database, that is as most are: short, not
// tried yet, and its turn is now. The result is empty where it is not so: then nothing has happened.
func (a *Activities) postAtOnce(ctx context.Context, t Task) (conversation.Result, error) {
	send, done := context.WithTimeout(ctx, sendTimeout) // from before the lease begins: it ends first
	defer done()
	p, err := a.Store.BeginReply(send, t.replyKey(), pace, sendLease)
	if err != nil || p == nil {
		return "", err
	}
	if err := a.send(ctx, send, *p, true); err != nil {
		return "", err
	}
	return conversation.Done, a.finish(ctx, t, *p)
}

// settle writes the outcome of a reply into the ledger: that of the decision that it
// was composed by. That is not the task's where a workflow was reset and comes to the
// same reply by another decision, which then had nothing to post.
func (a *Activities) settle(ctx context.Context, t Task, by string, outcome conversation.Outcome, why string) error {
	if err := a.Store.Settle(ctx, by, outcome, why); err != nil || by == t.decisionKey() {
		return err
	}
	if outcome == conversation.Sent {
		outcome = conversation.Silent
	}
	return a.Store.Settle(ctx, t.decisionKey(), outcome, why)
}

// outcomeOf is what the ledger has of a reply that was not posted, or not to its end.
func outcomeOf(r conversation.Result) conversation.Outcome {
	switch r {
	case conversation.Gone, conversation.Outdated:
		return conversation.Withdrawn
	case conversation.Silenced:
		return conversation.Silent
	default:
		return conversation.Unsent
	}
}

// postPart brings one part from whatever state it is found in to sent, and with the
// last one the reply to its end. What is not sent comes back with what that is due to.
func (a *Activities) postPart(ctx context.Context, p store.Part, last bool) (result conversation.Result, by string, err error) {
	switch p.State {
	case store.Sent:
		return conversation.Done, "", nil
	case store.Failed:
		return conversation.Failed, p.Error, nil
	case store.Sending:
		if ts, found, err := a.findPost(ctx, p); err != nil {
			return "", "", err
		} else if found {
			return conversation.Done, "", a.sent(ctx, p, ts, last)
		}
	case store.Composed:
	}
	send, done, err := a.begin(ctx, p)
	var outdated store.OutdatedError
	switch {
	case errors.Is(err, store.ErrDeleted):
		return conversation.Gone, p.Trigger, a.giveUp(ctx, p, store.ErrDeleted)
	case errors.As(err, &outdated):
		return conversation.Outdated, outdated.Deleted, a.giveUp(ctx, p, outdated)
	case errors.Is(err, store.ErrSilenced):
		return conversation.Silenced, string(conversation.RuleSilenced), a.giveUp(ctx, p, store.ErrSilenced)
	case err != nil:
		return "", "", err
	}
	defer done()
	return conversation.Done, "", a.send(ctx, send, p, last)
}

// send posts a part of which an attempt has begun, and writes down what came of it. Slack
// is asked in the context of the attempt, which ends before others may begin one.
func (a *Activities) send(ctx, attempt context.Context, p store.Part, last bool) error {
	failpoint.Here("post: begun")
	began := a.Clock()
	attempt, span := telemetry.StartSpan(attempt, "chat.postMessage", trace.SpanKindClient, attribute.Int("myao.attempt", p.Attempts+1),
		attribute.String("myao.key_hash", keyHash(p.Key)))
	ts, err := a.Slack.Post(attempt, slack.Post{Channel: p.Channel, ThreadTS: p.Thread, Text: p.Text, Key: p.Key})
	if err != nil {
		telemetry.Fail(span, reasonOf(err))
	}
	span.End()
	if err != nil {
		return a.unsent(ctx, p, began, err)
	}
	failpoint.Here("post: sent")
	return a.sent(ctx, p, ts, last)
}

// begin begins an attempt when it is the part's turn in its channel, and returns the
// context of what Slack is asked then. Where the turn is far away the attempt ends and
// comes again in time for it; it is kept.
func (a *Activities) begin(ctx context.Context, p store.Part) (send context.Context, done func(), err error) {
	for {
		send, done = context.WithTimeout(ctx, sendTimeout) // from before the lease begins: it ends first
		wait, err := a.Store.BeginSend(send, p, pace, sendLease)
		if err == nil && wait == 0 {
			return send, done, nil
		}
		done()
		if err != nil {
			return nil, nil, err
		}
		failpoint.Here("post: turn taken")
		if wait > maxTurnWait {
			return nil, nil, queuedError{"part " + p.Key, wait}
		}
		if !pause.For(ctx, wait) {
			return nil, nil, context.Cause(ctx)
		}
	}
}

// giveUp ends a part that was tried and is not in Slack, and shall not come there any more.
func (a *Activities) giveUp(ctx context.Context, p store.Part, why error) error {
	if p.State != store.Sending {
		return nil
	}
	p.Attempts-- // as it was before the attempt that is now known to have had no effect
	return a.Store.EndSend(ctx, p, store.Composed, time.Time{}, "not posted: "+why.Error())
}

// findPost asks Slack for a part whose last attempt ended nobody knows how. What is
// found is there; what is not found is not there only once that attempt can no
// longer be under way, here or at Slack's.
func (a *Activities) findPost(ctx context.Context, p store.Part) (ts string, found bool, err error) {
	own, err := a.Slack.Identity(ctx)
	if err != nil {
		return "", false, err
	}
	for {
		over := !a.Clock().Before(p.LeasedUntil)
		ts, found, err = a.Slack.FindPost(ctx, p.Channel, p.Thread, p.Trigger, p.Key, own)
		if err != nil {
			return "", false, fmt.Errorf("look for %s: %w", p.Key, err)
		}
		if found || over {
			a.Metrics.lookedFor(found)
			a.Logger.InfoContext(ctx, "looked for a post of unknown end", "key", p.Key, "found", found)
			return ts, found, nil
		}
		if !pause.For(ctx, min(lookupPause, p.LeasedUntil.Sub(a.Clock()))) {
			return "", false, context.Cause(ctx)
		}
	}
}

// unsent writes down what is known of an attempt that failed. That is written
// even when the attempt's context is over: a row left as it is costs the next
// attempt the rest of the lease.
func (a *Activities) unsent(ctx context.Context, p store.Part, began time.Time, cause error) error {
	state, until := store.Sending, a.Clock().Add(settleTime)
	if e, ok := errors.AsType[*slack.Error](cause); ok {
		switch {
		case e.Kind == slack.RateLimited, e.Kind == slack.Transient:
			state, until = store.Composed, time.Time{}
		case e.Kind == slack.Final:
			state, until = store.Failed, time.Time{}
		case e.TimedOut():
			until = began.Add(maxEffectDelay)
		}
	}
	a.Metrics.unsent(reasonOf(cause))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := a.Store.EndSend(ctx, p, state, until, cause.Error()); err != nil {
		a.Logger.ErrorContext(ctx, "end of an attempt not written down", "key", p.Key, "error", err)
	}
	return fmt.Errorf("part %s: %w", p.Key, cause)
}

// sent writes down that a part is in Slack, and with the last one what became of the
// reply; like unsent even when the attempt's context is over.
func (a *Activities) sent(ctx context.Context, p store.Part, ts string, last bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	own, err := a.Slack.Identity(ctx)
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "posted", "key", p.Key, "ts", ts)
	m := chat.Message{
		Team: p.Team, Channel: p.Channel, TS: ts, ThreadTS: p.Thread, UserID: own.UserID, BotID: own.BotID,
		Own: true, Text: p.Text,
	}
	if !last {
		err = a.Store.MarkPosted(ctx, p, m)
	} else {
		var settled *store.Decision
		if settled, err = a.Store.MarkReplied(ctx, p, m); settled != nil {
			a.Metrics.posted(*settled)
		}
	}
	if err != nil {
		return err
	}
	failpoint.Here("post: written down")
	return nil
}

// reasonOf is why an attempt to post failed: what it allows to do next.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*slack.Error](err); ok {
		return string(e.Kind)
	}
	return string(slack.Ambiguous)
}

// keyHash tells the spans of one part from those of others.
func keyHash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}
