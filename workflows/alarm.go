package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// alarm is one timer that serves many deadlines.
type alarm struct {
	future workflow.Future
	cancel workflow.CancelFunc
	at     time.Time
}

// set makes sure that the alarm fires at the latest at a time; the zero time asks for none.
func (a *alarm) set(ctx workflow.Context, at time.Time, summary string) {
	a.fired()
	if at.IsZero() || (a.future != nil && !a.at.After(at)) {
		return
	}
	if a.future != nil {
		a.cancel()
	}
	ctx, a.cancel = workflow.WithCancel(ctx)
	a.at = at
	a.future = workflow.NewTimerWithOptions(ctx, max(at.Sub(workflow.Now(ctx)), time.Millisecond), workflow.TimerOptions{Summary: summary})
}

// fired reports whether the alarm has gone off, and forgets it if so.
func (a *alarm) fired() bool {
	if a.future == nil || !a.future.IsReady() {
		return false
	}
	a.future = nil
	return true
}
