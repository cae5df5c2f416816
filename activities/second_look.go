package activities

import (
	"context"
	"errors"
	"math"
	"time"

	"go.temporal.io/sdk/temporal"

	"myao/internal/answer/agents"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/internal/store"
)

const (
	// secondLookAge and secondLookMargin say when config.SecondLookWaited looks again: this long after
	// the judgment read, or when its confidence was this close to min_confidence.
	secondLookAge    = time.Minute
	secondLookMargin = 0.15
	// maxDrafts bounds the drafts that are paid for while the second look fails: each retry of the
	// activity writes another. It must be less than the answers that agents.Ask allows.
	maxDrafts = 3
)

// tookBack reports whether an earlier attempt, whose result was lost, took a judged reply back.
func (in ComposeInput) tookBack(d *store.Decision) bool {
	return in.judged() && d != nil && d.Outcome == conversation.Silent &&
		d.OutcomeBy == string(conversation.RuleSecondLook)
}

// stillWanted asks the judge whether a draft should still be posted, if response.second_look wants
// that. After a no the decision is settled as silent. The model has looked things up in so many rounds before.
func (a *Activities) stillWanted(ctx context.Context, in ComposeInput, d *store.Decision, draft string,
	rounds int) (bool, error) {
	if !in.judged() || d == nil || d.Source != "judgment" || d.Confidence == nil {
		return true, nil
	}
	read := time.UnixMicro(d.ReadUS)
	if wants, err := a.wantsSecondLook(ctx, in.Task, *d, read); err != nil || !wants {
		return true, err
	}
	look, err := a.Agents.AskSecondLook(ctx, agents.SecondLook{Conversation: in.Conversation, Trigger: in.Trigger,
		Draft: draft, Judged: read}, attemptOf(ctx, in.Task))
	if err != nil {
		return a.postWithoutLook(ctx, in.Task, rounds, err)
	}
	a.Logger.InfoContext(ctx, "second look", "conversation", in.Conversation.ID(), "trigger", in.Trigger, "post",
		look.Post, "reason", look.Reason)
	if look.Post {
		return true, nil
	}
	a.Metrics.tookBack()
	return false, a.Store.Settle(ctx, d.Key, conversation.Silent, string(conversation.RuleSecondLook))
}

// wantsSecondLook reports whether a reply whose judgment read at some time is looked at again.
func (a *Activities) wantsSecondLook(ctx context.Context, t Task, d store.Decision, read time.Time) (bool, error) {
	switch a.SecondLook {
	case config.SecondLookAlways:
		return true, nil
	case config.SecondLookWaited:
		const rounding = 1e-9 // 0.85 - 0.7 is more than 0.15
		if a.Clock().Sub(read) >= secondLookAge || math.Abs(*d.Confidence-d.MinConfidence) <= secondLookMargin+
			rounding {
			return true, nil
		}
		return a.Store.ReactedSince(ctx, t.Conversation, read)
	}
	return false, nil
}

// postWithoutLook says whether to post a draft that the judge could not look at. A judge that fails
// for good does not take back its own yes: the judgment is the decision, and the second look only an
// objection to it. Other failures are retried, but for no more than maxDrafts drafts.
func (a *Activities) postWithoutLook(ctx context.Context, t Task, rounds int, failure error) (bool, error) {
	app, ok := errors.AsType[*temporal.ApplicationError](classify(failure))
	if !ok || !app.NonRetryable() {
		drafts := -rounds // these answers were no drafts
		calls, err := a.Store.CallSummaries(ctx, t.decisionKey(), llm.PurposeResponse)
		for _, c := range calls {
			if c.Error == "" {
				drafts += c.Calls
			}
		}
		if err != nil || drafts < maxDrafts {
			return false, failure
		}
	}
	a.Logger.WarnContext(ctx, "no second look; the reply is posted", "conversation", t.Conversation.ID(), "trigger",
		t.Trigger, "error", failure)
	return true, nil
}
