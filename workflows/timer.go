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
	if at.IsZero() || (d.future != nil && !d.at.After(at)) {
		return
	}
	if d.future != nil {
		d.cancel()
	}
	ctx, d.cancel = workflow.WithCancel(ctx)
	d.at = at
	d.future = workflow.NewTimerWithOptions(ctx, max(at.Sub(workflow.Now(ctx)), time.Millisecond),
		workflow.TimerOptions{Summary: summary})
}

// fired reports whether the timer has fired since clearFired.
func (d *deadlineTimer) fired() bool { return d.future != nil && d.future.IsReady() }

// clearFired forgets a timer that has fired. Until then, await does not block.
func (d *deadlineTimer) clearFired() {
	if d.fired() {
		d.future = nil
	}
}
