package bench

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// openLoop begins n things, rate a second, each at its own time whatever has become of
// those before it, and returns when all are done. do is told when its thing was to begin.
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

// errEnough ends a hand of closedLoop.
var errEnough = errors.New("enough")

// closedLoop has so many hands do one thing after the other for a time, or until there is
// enough.
func closedLoop(ctx context.Context, hands int, lasts time.Duration, do func(i int) error) (done, failed int, took time.Duration) {
	var next, good, bad atomic.Int64
	began := time.Now()
	var group sync.WaitGroup
	for range hands {
		group.Go(func() {
			for time.Since(began) < lasts && ctx.Err() == nil {
				switch err := do(int(next.Add(1) - 1)); {
				case errors.Is(err, errEnough):
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
