package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// deadlineTimer is one timer for a deadline that moves.
type deadlineTimer struct {
	future workflow.Future
	cancel workflow.CancelFunc
	at     time.Time
}

// set makes sure that the timer fires at the given time or earlier; the zero time asks for
// none. A timer for an earlier time is left alone: it fires early, and is then set again.
func (d *deadlineTimer) set(ctx workflow.Context, at time.Time, summary string) {
	d.fired()
	if at.IsZero() || (d.future != nil && !d.at.After(at)) {
		return
	}
	if d.future != nil {
		d.cancel()
	}
	ctx, d.cancel = workflow.WithCancel(ctx)
	d.at = at
	d.future = workflow.NewTimerWithOptions(ctx, max(at.Sub(workflow.Now(ctx)), time.Millisecond), workflow.TimerOptions{Summary: summary})
}

// fired reports whether the timer has fired, and clears it if so.
func (d *deadlineTimer) fired() bool {
	if d.future == nil || !d.future.IsReady() {
		return false
	}
	d.future = nil
	return true
}
