package activities

import (
	"sync"
	"time"
)

const (
	// slowPost is from when on a post counts as one at which Slack hangs. sendTimeout ends it.
	slowPost = 5 * time.Second
	// slowPosts so many in a row, each within slowWithin of the one before, end posting at once for slowPause.
	slowPosts  = 3
	slowWithin = time.Minute
	slowPause  = 30 * time.Second
)

// AtOnce decides whether replies are posted within the tasks of workflows. Where Slack hangs they are not:
// meanwhile a workflow takes no orders. Its zero value has them posted so. The methods of nil do, too.
type AtOnce struct {
	// Off has every reply posted from the task queue.
	Off bool

	mu    sync.Mutex
	slow  int
	last  time.Time // when the last slow one ended
	until time.Time
}

func (o *AtOnce) allowed(now time.Time) bool {
	if o == nil {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.Off && !now.Before(o.until)
}

// ended takes into account when a post began and ended.
func (o *AtOnce) ended(began, now time.Time) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.Sub(began) < slowPost {
		o.slow = 0
		return
	}
	if now.Sub(o.last) > slowWithin {
		o.slow = 0
	}
	o.slow, o.last = o.slow+1, now
	if o.slow >= slowPosts {
		o.slow, o.until = 0, now.Add(slowPause)
	}
}
