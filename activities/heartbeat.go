package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// heartbeatInterval is the usual time between two heartbeats. By a heartbeat an activity also
// learns that it is cancelled.
const heartbeatInterval = 2 * time.Second

// heartbeatIntervalFor returns the time between two heartbeats for a heartbeat timeout. Most
// activities have one of ten seconds. With a longer one the interval is the SDK's own, because
// each heartbeat costs as much as an activity.
func heartbeatIntervalFor(limit time.Duration) time.Duration {
	if limit > 10*time.Second {
		return limit * 4 / 5
	}
	return heartbeatInterval
}

// heartbeat sends heartbeats until stop is called. Most attempts end before the first one. Outside an
// activity, as in tests, there is nobody to send them to: the SDK would panic.
func heartbeat(ctx context.Context) (_ context.Context, stop func()) {
	if !activity.IsActivity(ctx) {
		return context.WithCancel(ctx)
	}
	interval := heartbeatIntervalFor(activity.GetInfo(ctx).HeartbeatTimeout)
	ctx, cancel := context.WithCancel(withProgress(ctx))
	told := progressOf(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				activity.RecordHeartbeat(ctx, told)
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(); <-done }
}
