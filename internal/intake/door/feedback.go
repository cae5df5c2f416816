package door

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"myao/internal/language/words"
	"myao/internal/slack"
	"myao/internal/store"
)

// triggerLife is how long Slack opens a modal after a click
// (docs.slack.dev/interactivity/handling-user-interaction#modal_responses).
const triggerLife = 3 * time.Second

// vote records what somebody thinks of a reply, and asks whoever dislikes it for the reason. Everybody
// who sees the buttons may vote, guests and other companies too: a vote decides nothing. Nobody is shown
// it.
func (d room) vote(ctx context.Context, b slack.BlockAction, own slack.Identity) error {
	if b.Value != slack.FeedbackUp && b.Value != slack.FeedbackDown {
		return d.ignoreVote("value", "no vote has the value %q", b.Value)
	}
	at := b.At
	if at.IsZero() {
		at = d.Clock()
	}
	saved, err := d.Store.SaveVote(ctx, own.TeamID, b.Channel, b.MessageTS, b.BlockID, b.User, b.Value, at)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return d.ignoreVote("unknown", "a vote about no reply that can be rated")
	case errors.Is(err, store.ErrElsewhere):
		return d.ignoreVote("elsewhere", "a vote under another message")
	case errors.Is(err, store.ErrDeleted):
		return d.ignoreVote("deleted", "a vote about a reply that is gone")
	case err != nil:
		return err
	}
	d.Metrics.event("rated")
	if !saved { // delivered again, or overtaken
		return nil
	}
	d.Metrics.vote(b.Value)
	if b.Value == slack.FeedbackDown {
		d.pending.Go(func() { d.askReason(ctx, b) })
	}
	return nil
}

func (d room) ignoreVote(reason, format string, args ...any) error {
	d.Metrics.voteIgnored(reason)
	return fmt.Errorf("%w: %s", slack.ErrIgnored, fmt.Sprintf(format, args...))
}

// askReason opens the modal for the reason. It ignores the end of ctx, which ends with the
// acknowledgement.
func (d room) askReason(ctx context.Context, b slack.BlockAction) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), triggerLife)
	defer cancel()
	w := words.In(d.Config.Language)
	if err := d.Slack.OpenForm(ctx, b.Trigger, slack.ReasonForm(slack.Form{Title: w.Of("Bad answer"), Submit: w.Of("Send"),
		Close: w.Of("Skip")}, w.Of("What should have been different?"), b.BlockID)); err != nil {
		d.Logger.WarnContext(ctx, "reason of a vote not asked for", "channel", b.Channel, "error", err)
	}
}

// voteReason records why somebody dislikes a reply.
func (d room) voteReason(ctx context.Context, v slack.ViewSubmission) error {
	if v.Callback != slack.ActionFeedback {
		return fmt.Errorf("%w: no view has the callback_id %q", slack.ErrIgnored, v.Callback)
	}
	reason := strings.TrimSpace(v.Reason())
	if r := []rune(reason); len(r) > slack.MaxReason { // Slack enters no more
		reason = string(r[:slack.MaxReason])
	}
	saved, err := d.Store.SaveVoteReason(ctx, v.Metadata, v.User, reason)
	switch {
	case err != nil:
		return err
	case !saved:
		return d.ignoreVote("unknown", "a reason without a vote")
	}
	d.Metrics.event("rated")
	return nil
}
