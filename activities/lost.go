package activities

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/activity"
)

const (
	// maxLost is how many attempts of an activity may never end before it is given up. Each may have
	// taken its worker with it.
	maxLost = 5
	// maxLostSteps is the same of a step, except that reading what strangers wrote is given up after the first.
	maxLostSteps = 3
)

// progress is what the attempts of an activity tell the next ones, in their heartbeats.
type progress struct {
	Attempt int32 `json:"attempt"` // which wrote it
	// Lost is how many attempts before that never ended: neither with a result nor with an error.
	Lost int `json:"lost"`
	// Ended is set if the attempt itself has ended, with an error.
	Ended bool `json:"ended"`
}

// lostBefore is how many attempts never ended before an attempt, by what the last one told; nil if none
// has told anything, as the first attempt where it dies at once.
func lostBefore(attempt int32, last *progress) int {
	switch {
	case attempt <= 1:
		return 0
	case last == nil:
		return 1
	case last.Ended && last.Attempt == attempt-1:
		return last.Lost
	}
	return last.Lost + 1
}

type progressKey struct{}

// withProgress has a context know how far its activity has come. A repeated attempt tells that it has begun.
func withProgress(ctx context.Context) context.Context {
	attempt := activity.GetInfo(ctx).Attempt
	var last *progress
	if attempt > 1 && activity.HasHeartbeatDetails(ctx) {
		told := new(progress)
		if err := activity.GetHeartbeatDetails(ctx, told); err == nil && told.Attempt > 0 {
			last = told
		}
	}
	p := progress{Attempt: attempt, Lost: lostBefore(attempt, last)}
	if attempt > 1 {
		activity.RecordHeartbeat(ctx, p)
	}
	return context.WithValue(ctx, progressKey{}, p)
}

// progressOf is how far the activity has come; zero outside activities.
func progressOf(ctx context.Context) progress {
	p, _ := ctx.Value(progressKey{}).(progress)
	return p
}

// ended tells the next attempt that this one has ended with an error, and returns that.
func ended(ctx context.Context, err error) error {
	if p := progressOf(ctx); p.Attempt > 0 {
		p.Ended = true
		activity.RecordHeartbeat(ctx, p)
	}
	return err
}

// checkLost returns a final error once too many attempts of an activity never ended. From the second such attempt
// on, the doctor names the conversation.
func (a *Activities) checkLost(ctx context.Context, t Task) error {
	lost := progressOf(ctx).Lost
	if lost == 0 {
		return nil
	}
	a.Logger.WarnContext(ctx, "an attempt never ended: its worker died, or it hung",
		"conversation", t.Conversation.ID(), "trigger", t.Trigger, "lost", lost)
	if lost > 1 {
		if err := a.Store.SaveLost(ctx, t.Conversation); err != nil {
			return err
		}
	}
	if lost >= maxLost {
		return final(fmt.Errorf("%d attempts never ended: their workers died, or they hung", lost))
	}
	return nil
}
