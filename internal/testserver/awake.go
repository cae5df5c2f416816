package testserver

import (
	"sync/atomic"
	"testing"
	"time"
)

// Awake begins to measure for how long this process runs, which is less than what passes
// where the machine stands still meanwhile, as one that is shared may do for seconds. It is
// for what shall take no longer than a time; what shall take no less passes by any clock.
func Awake(t testing.TB) (ran func() time.Duration) {
	const tick = 10 * time.Millisecond
	var total atomic.Int64
	ticker, last := time.NewTicker(tick), time.Now()
	ended := make(chan struct{})
	t.Cleanup(func() { ticker.Stop(); close(ended) })
	go func() {
		for {
			select {
			case now := <-ticker.C:
				total.Add(int64(min(now.Sub(last), 10*tick)))
				last = now
			case <-ended:
				return
			}
		}
	}()
	return func() time.Duration { return time.Duration(total.Load()) }
}
