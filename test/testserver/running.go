package testserver

import (
	"sync"
	"sync/atomic"
	"time"
)

// MeasureRunning starts to measure how long this process runs. Time in which the machine
// stalls does not count. Use it for upper time limits; for lower limits any clock will do.
func MeasureRunning() (ran func() time.Duration) {
	total := running()
	began := total.Load()
	return func() time.Duration { return time.Duration(total.Load() - began) }
}

// MeasureStalls starts to measure how long this process does not run, because the machine
// stalls or has no processor for it.
func MeasureStalls() (stalled func() time.Duration) {
	began, ran := time.Now(), MeasureRunning()
	return func() time.Duration { return time.Since(began) - ran() }
}

// running counts the nanoseconds that the process has run since the first call.
var running = sync.OnceValue(func() *atomic.Int64 {
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
