// Package threadstatus shows in threads of Slack what the bot does for somebody who waits there. It works
// beside the work: nothing waits for it, and its failures are only logged.
package threadstatus

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"myao/internal/slack"
)

const (
	// renewal is the time between two calls that show the same status. Slack takes it away after two minutes.
	renewal = time.Minute
	// callTimeout bounds a call.
	callTimeout = 2 * time.Second
	// refusedPause is how long nothing is shown after Slack has refused the app the method, and quietTime how
	// long a kind of failure is not logged again.
	refusedPause, quietTime = time.Hour, time.Hour
	// limitedPause is how long nothing is shown after a rate limit that names no time.
	limitedPause = time.Minute
)

// Slack shows statuses.
type Slack interface {
	SetStatus(ctx context.Context, channel, threadTS, status string) error
}

// Place is a thread.
type Place struct{ Channel, Thread string }

// Board is what one worker shows. The methods return at once, and are safe for concurrent use. An owner is
// the decision for which something is shown.
type Board struct {
	slack  Slack
	clock  func() time.Time
	logger *slog.Logger

	mu      sync.Mutex
	threads map[Place]*thread
	until   time.Time                     // nothing is shown before
	logged  map[slack.ErrorKind]time.Time // by kind
}

// thread is what is shown in a place. A goroutine of its own makes the calls, so that they keep their order,
// and ends when nobody works there any more.
type thread struct {
	owner   string
	working int // activities that work for the owner
	status  string
	due     bool // status is still to be sent
	sending bool
	changed chan struct{}
}

// NewBoard makes a board. It shows nothing yet.
func NewBoard(s Slack, clock func() time.Time, logger *slog.Logger) *Board {
	return &Board{slack: s, clock: clock, logger: logger, threads: map[Place]*thread{},
		logged: map[slack.ErrorKind]time.Time{}}
}

// Show shows a status, and renews it until Leave, Posting or Clear. A newer owner takes the place over.
func (b *Board) Show(p Place, owner, status string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.thread(p)
	if t.owner != owner {
		t.owner, t.working = owner, 0
	}
	t.working++
	t.send(status)
}

// Leave ends an activity whose status stays until the owner's next one.
func (b *Board) Leave(p Place, owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.threads[p]; t != nil && t.owner == owner && t.working > 0 {
		t.working--
		t.wake()
	}
}

// Posting ends an activity after which the owner's reply is posted, and Slack takes the status away.
func (b *Board) Posting(p Place, owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.threads[p]
	if t == nil || t.owner != owner {
		return
	}
	t.working, t.due = 0, false
	if t.sending { // it may come after the post
		t.send("")
	}
	t.wake()
}

// Clear takes away what is shown for an owner whose reply is not posted, unless the place is another one's
// by now. left is set if another worker may have shown something.
func (b *Board) Clear(p Place, owner string, left bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.threads[p]
	switch {
	case t == nil && !left, t != nil && t.owner != owner && t.working > 0:
		return
	case t == nil:
		t = b.thread(p)
	}
	t.owner, t.working = owner, 0
	t.send("")
}

// thread returns the thread of a place. Callers hold mu.
func (b *Board) thread(p Place) *thread {
	t := b.threads[p]
	if t == nil {
		t = &thread{changed: make(chan struct{}, 1)}
		b.threads[p] = t
		go b.run(p, t)
	}
	return t
}

func (t *thread) send(status string) {
	t.status, t.due = status, true
	t.wake()
}

func (t *thread) wake() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// run sends what is due in a place, and renews it, until nobody works there.
func (b *Board) run(p Place, t *thread) {
	renew := time.NewTimer(renewal)
	defer renew.Stop()
	for {
		b.mu.Lock()
		t.sending = t.due
		status := t.status
		t.due = false
		if !t.sending && t.working == 0 {
			delete(b.threads, p)
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		if t.sending {
			b.call(p, status)
			renew.Reset(renewal)
			b.mu.Lock()
			t.sending = false
			b.mu.Unlock()
			continue
		}
		select {
		case <-t.changed:
		case <-renew.C:
			b.mu.Lock()
			t.due = t.working > 0
			b.mu.Unlock()
		}
	}
}

// call makes one call, unless Slack has refused the method before.
func (b *Board) call(p Place, status string) {
	b.mu.Lock()
	paused := b.clock().Before(b.until)
	b.mu.Unlock()
	if paused {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout) // the activity's may have ended
	defer cancel()
	err := b.slack.SetStatus(ctx, p.Channel, p.Thread, status)
	failed, ok := errors.AsType[*slack.Error](err)
	if !ok {
		return
	}
	now := b.clock()
	b.mu.Lock()
	switch {
	case failed.Kind == slack.RateLimited && failed.RetryAfter > 0:
		b.until = now.Add(failed.RetryAfter)
	case failed.Kind == slack.RateLimited:
		b.until = now.Add(limitedPause)
	case failed.Anywhere():
		b.until = now.Add(refusedPause)
	}
	told := b.logged[failed.Kind]
	quiet := !told.IsZero() && now.Sub(told) < quietTime
	if !quiet {
		b.logged[failed.Kind] = now
	}
	b.mu.Unlock()
	if !quiet {
		b.logger.Warn("status not shown; replies are not affected, and failures of this kind are not logged again "+
			"for an hour", "error", err)
	}
}
