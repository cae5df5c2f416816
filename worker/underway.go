package main

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/interceptor"
)

// underway is the activities that are under way. When it stops, the SDK's worker calls
// back those that are left, and does not wait for what they have yet to write down.
type underway struct {
	interceptor.WorkerInterceptorBase
	// running is held for reading by each activity: whoever gets the lock knows that none
	// is left, and that none begins.
	running sync.RWMutex
}

// InterceptActivity has each attempt counted.
func (u *underway) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &attempt{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, running: &u.running}
}

type attempt struct {
	interceptor.ActivityInboundInterceptorBase
	running *sync.RWMutex
}

func (a *attempt) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	a.running.RLock()
	defer a.running.RUnlock()
	return a.Next.ExecuteActivity(ctx, in)
}

// end waits until no activity is left, for so long at most, and lets none begin any more. It
// reports whether none is left.
func (u *underway) end(within time.Duration) bool {
	none := make(chan struct{})
	go func() {
		u.running.Lock()
		close(none)
	}()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-none:
		return true
	case <-timer.C:
		return false
	}
}
