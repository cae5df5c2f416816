package testserver

import (
	"sync"
	"sync/atomic"
	"time"
)

// MeasureRunning begins to measure for how long this process runs, which is less than what passes
// where the machine stands still meanwhile, as one that is shared may do for seconds. It is
// for what shall take no longer than a time; what shall take no less passes by any clock.
func MeasureRunning() (ran func() time.Duration) {
	total := awake()
	began := total.Load()
	return func() time.Duration { return time.Duration(total.Load() - began) }
}

// MeasureStalls begins to measure for how long this process does not run, be it that the machine
// stands still or has no processor for it.
func MeasureStalls() (stood func() time.Duration) {
	began, ran := time.Now(), MeasureRunning()
	return func() time.Duration { return time.Since(began) - ran() }
}

// awake is for how long the process has run since it was first asked, nanoseconds.
var awake = sync.OnceValue(func() *atomic.Int64 {
	const tick = 10 * time.Millisecond
	var total atomic.Int64
	go func() {
		last := time.Now()
		for now := range time.Tick(tick) {
			total.Add(int64(min(now.Sub(last), 10*tick)))
			last = now
		}
	}()
	return &total
})
