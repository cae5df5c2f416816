package bench

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// openLoop calls do n times, rate a second, without waiting for earlier calls, and returns once
// all calls have returned. intended is when the call should have begun.
func openLoop(ctx context.Context, rate float64, n int, do func(i int, intended time.Time)) {
	began := time.Now()
	var group sync.WaitGroup
	for i := range n {
		intended := began.Add(time.Duration(float64(i) / rate * float64(time.Second)))
		if wait := time.Until(intended); wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				group.Wait()
				return
			}
		}
		group.Go(func() { do(i, intended) })
	}
	group.Wait()
}

// errStop ends a goroutine of closedLoop.
var errStop = errors.New("enough")

// closedLoop calls do repeatedly in n goroutines until the time is over or do returns errStop.
func closedLoop(ctx context.Context, n int, lasts time.Duration, do func(i int) error) (done, failed int, took time.Duration) {
	var next, good, bad atomic.Int64
	began := time.Now()
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			for time.Since(began) < lasts && ctx.Err() == nil {
				switch err := do(int(next.Add(1) - 1)); {
				case errors.Is(err, errStop):
					return
				case err != nil:
					bad.Add(1)
				default:
					good.Add(1)
				}
			}
		})
	}
	group.Wait()
	return int(good.Load()), int(bad.Load()), time.Since(began)
}
