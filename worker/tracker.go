package main

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/interceptor"
)

// activityTracker tracks running activities. When the SDK's worker stops, it cancels them and
// does not wait while they record their end; drain does.
type activityTracker struct {
	interceptor.WorkerInterceptorBase
	// running is read-locked by each activity: the write lock means that none runs, and that
	// none can start.
	running sync.RWMutex
}

// InterceptActivity tracks each attempt.
func (t *activityTracker) InterceptActivity(_ context.Context,
	next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &trackedActivity{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next},
		running: &t.running}
}

type trackedActivity struct {
	interceptor.ActivityInboundInterceptorBase
	running *sync.RWMutex
}

func (a *trackedActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	a.running.RLock()
	defer a.running.RUnlock()
	return a.Next.ExecuteActivity(ctx, in)
}

// drain waits until no activity runs, at most for the timeout, and lets none start afterwards.
// It reports whether none runs.
func (t *activityTracker) drain(timeout time.Duration) bool {
	none := make(chan struct{})
	go func() {
		t.running.Lock()
		close(none)
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-none:
		return true
	case <-timer.C:
		return false
	}
}
