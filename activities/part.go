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
	"myao/internal/runtime/failpoint"
	"myao/internal/runtime/pause"
	"myao/internal/runtime/telemetry"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
	"myao/internal/store"
)

const (
	// pace is the time between two messages in a channel (docs.slack.dev/apis/web-api/rate-limits).
	pace = time.Second
	// sendTimeout bounds an attempt to post a part, which may take two calls.
	sendTimeout = 8 * time.Second
	// sendLease is how long an attempt counts as running if its worker dies. A dead worker must
	// not delay a reply by more than 15 s.
	sendLease = 12 * time.Second
	// settleTime is how long Slack gets to show a post after an ambiguous answer or a lost connection.
	settleTime = 3 * time.Second
	// maxEffectDelay is how long after its start a call that timed out may still take effect.
	maxEffectDelay = 30 * time.Second
	// lookupPause is the pause between two lookups of a post in Slack.
	lookupPause = 2 * time.Second
	// maxSlotWait is how long an attempt waits for the part's slot, keeping a worker busy. With a
	// longer wait it ends and is retried.
	maxSlotWait = 3 * time.Second
	// answersPerForm is after how many errors of Slack's own a plainer form of a part is sent.
	answersPerForm = 2
	// writeTimeout bounds saving the outcome of an attempt, and what a judgment read.
	writeTimeout = 5 * time.Second
)

// postPart posts a part, whatever its state, and settles the reply with the last part. If it does not
// post the part, by says why.
func (a *Activities) postPart(
	ctx context.Context, p store.Part, last bool,
) (result conversation.Result, by string, err error) {
	switch p.State {
	case store.Sent:
		return conversation.Done, "", nil
	case store.Failed:
		return conversation.Failed, p.Error, nil
	case store.Retracted:
		return conversation.Silenced, string(conversation.Retracted), nil
	case store.Sending:
		if p.Reaction != "" { // Slack says so if it is there
			if !pause.For(ctx, p.LeasedUntil.Sub(a.Clock())) {
				return "", "", context.Cause(ctx)
			}
		} else if ts, found, err := a.findPost(ctx, p); err != nil {
			return "", "", err
		} else if found {
			return conversation.Done, "", a.markSent(ctx, p, ts, last)
		}
	case store.Composed:
	}
	send, done, err := a.beginSend(ctx, p)
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

// send posts a part whose attempt has begun, and saves the outcome. The call to Slack uses the
// context attempt, which ends before the lease.
func (a *Activities) send(ctx, attempt context.Context, p store.Part, last bool) error {
	failpoint.Here("post: begun")
	began := a.Clock()
	method := "chat.postMessage"
	if p.Reaction != "" {
		method = "reactions.add"
	}
	attempt, span := telemetry.StartSpan(attempt, method, trace.SpanKindClient,
		attribute.Int("myao.attempt", p.Attempts+1),
		attribute.String("myao.key_hash", keyHash(p.Key)))
	ts, err := a.deliver(attempt, p)
	if err != nil {
		telemetry.Fail(span, reasonOf(err))
	}
	span.End()
	if err != nil {
		return a.markUnsent(ctx, p, began, err)
	}
	failpoint.Here("post: sent")
	return a.markSent(ctx, p, ts, last)
}

// deliver posts a part as a message, whose ts it returns, or as a reaction.
func (a *Activities) deliver(ctx context.Context, p store.Part) (ts string, err error) {
	if p.Reaction != "" {
		return "", a.Slack.React(ctx, p.Channel, p.Trigger, p.Reaction)
	}
	shown, err := a.choicesUnder(ctx, p)
	if err != nil {
		return "", err
	}
	return a.Slack.Post(ctx, slack.Post{
		Channel: p.Channel, ThreadTS: p.Thread, Text: p.Text, Key: p.Key, Choices: shown, Feedback: a.feedbackUnder(p),
		Plainer: p.FormErrors / answersPerForm,
	})
}

// beginSend begins an attempt when the part's slot in its channel has come, and returns the context for
// the calls to Slack. If the slot is far away it returns a queuedError. The part keeps its slot.
func (a *Activities) beginSend(ctx context.Context, p store.Part) (send context.Context, done func(), err error) {
	for {
		send, done = timeout.After(ctx, sendTimeout) // begins before the lease and ends before it
		wait, err := a.Store.BeginSend(send, p, pace, sendLease)
		if err == nil && wait == 0 {
			return send, done, nil
		}
		done()
		if err != nil {
			return nil, nil, err
		}
		failpoint.Here("post: turn taken")
		if wait > maxSlotWait {
			return nil, nil, queuedError{"part " + p.Key, wait}
		}
		if !pause.For(ctx, wait) {
			return nil, nil, context.Cause(ctx)
		}
	}
}

// giveUp ends an attempted part that is not in Slack and must not be posted any more.
func (a *Activities) giveUp(ctx context.Context, p store.Part, why error) error {
	if p.State != store.Sending {
		return nil
	}
	p.Attempts-- // the last attempt had no effect
	return a.Store.EndSend(ctx, p, store.Composed, time.Time{}, "not posted: "+why.Error())
}

// findPost looks up a part of unknown outcome in Slack. A part that is not found counts as missing only
// after its lease: until then the last attempt may still take effect.
func (a *Activities) findPost(ctx context.Context, p store.Part) (ts string, found bool, err error) {
	for {
		over := !a.Clock().Before(p.LeasedUntil)
		ts, found, err = a.Slack.FindPost(ctx, p.Channel, p.Thread, p.SearchFrom(), p.Key, a.Own)
		if err != nil {
			return "", false, fmt.Errorf("look for %s: %w", p.Key, err)
		}
		if found || over {
			a.Metrics.ambiguousPost(found)
			a.Logger.InfoContext(ctx, "looked up a post of unknown outcome", "key", p.Key, "found", found)
			return ts, found, nil
		}
		if !pause.For(ctx, min(lookupPause, p.LeasedUntil.Sub(a.Clock()))) {
			return "", false, context.Cause(ctx)
		}
	}
}

// markUnsent saves the outcome of a failed attempt, even if the attempt's context has ended. Otherwise
// the next attempt would have to wait for the end of the lease.
func (a *Activities) markUnsent(ctx context.Context, p store.Part, began time.Time, cause error) error {
	state, until := store.Sending, a.Clock().Add(settleTime)
	if e, ok := errors.AsType[*slack.Error](cause); ok {
		switch {
		case e.Kind == slack.RateLimited, e.Kind == slack.Transient:
			state, until = store.Composed, time.Time{}
		case e.Kind == slack.Final:
			state, until = store.Failed, time.Time{}
		case e.TimedOut():
			until = began.Add(maxEffectDelay)
		case e.OfSlack():
			p.FormErrors++
		}
	}
	a.Metrics.postFailed(reasonOf(cause))
	ctx, cancel := timeout.After(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := a.Store.EndSend(ctx, p, state, until, cause.Error()); err != nil {
		a.Logger.ErrorContext(ctx, "outcome of an attempt not saved", "key", p.Key, "error", err)
	}
	return fmt.Errorf("part %s: %w", p.Key, cause)
}

// markSent saves that a part is in Slack, and with the last part the reply's outcome, even if the
// attempt's context has ended.
func (a *Activities) markSent(ctx context.Context, p store.Part, ts string, last bool) error {
	ctx, cancel := timeout.After(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if p.Reaction != "" {
		a.Logger.InfoContext(ctx, "reacted", "key", p.Key, "ts", p.Trigger, "reaction", p.Reaction)
	} else {
		a.Logger.InfoContext(ctx, "posted", "key", p.Key, "ts", ts)
	}
	m := chat.Message{
		Team: p.Team, Channel: p.Channel, TS: ts, ThreadTS: p.Thread, UserID: a.Own.UserID, BotID: a.Own.BotID,
		Own: true, Text: p.Text,
	}
	var err error
	if !last {
		err = a.Store.MarkPosted(ctx, p, m)
	} else {
		var settled *store.Decision
		if settled, err = a.Store.MarkReplied(ctx, p, m); settled != nil {
			a.Metrics.posted(*settled, chat.Time(ts))
		}
	}
	if err != nil {
		return err
	}
	failpoint.Here("post: written down")
	return nil
}

// reasonOf returns the kind of a failed attempt to post, for metrics and traces.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*slack.Error](err); ok {
		return string(e.Kind)
	}
	return string(slack.Ambiguous)
}

// keyHash identifies a part in traces without its key.
func keyHash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}
