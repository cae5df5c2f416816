package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// groupSize is the most events that are committed at once.
	groupSize = 256
	// groupInterval is the shortest time between the starts of two groups. Events that arrive
	// within it are committed together. A group of one message costs as much as a group of ten.
	groupInterval = 10 * time.Millisecond
	// groupQueue is how many events may wait. More are refused, because their callers would not
	// wait that long.
	groupQueue = 8192
)

var (
	errQueueFull = errors.New("too many events are waiting to be committed")
	errClosed    = errors.New("the store is closed")
)

// groups commits events in groups (group commit), since most of a commit's cost is the way to the
// database and the disk. An event that finds a free worker starts a group, at the earliest interval
// after the last group. What arrives meanwhile waits and forms the next group.
type groups struct {
	// concurrency is how many groups may be committed at the same time.
	concurrency int
	// interval is the shortest time between the starts of two groups.
	interval time.Duration
	// commit commits a whole group or nothing. A group has at most one event of each message.
	commit func(ctx context.Context, group []*recording) error

	mu        sync.Mutex
	queue     []*recording
	nextStart time.Time // when the next group may begin
	pausing   bool      // a worker waits for nextStart
	working   int
	closed    bool
	workers   sync.WaitGroup
}

// group is a set of events that are committed together. It is cancelled when nobody waits for it.
type group struct {
	recordings []*recording
	waiting    int // how many callers still wait
	cancel     context.CancelFunc
}

// do commits an event. If its context ends first, do returns that error at once, and the event may
// still be committed.
func (g *groups) do(n *recording) error {
	if err := g.enqueue(n); err != nil {
		return err
	}
	select {
	case <-n.done:
		return n.err
	case <-n.ctx.Done():
		g.abandon(n)
		return n.ctx.Err()
	}
}

func (g *groups) enqueue(n *recording) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return errClosed
	case len(g.queue) >= groupQueue:
		return errQueueFull
	}
	g.queue = append(g.queue, n)
	if g.working < g.concurrency && !g.pausing {
		g.working++
		g.workers.Go(g.work)
	}
	return nil
}

// abandon notes that a caller no longer waits for its event.
func (g *groups) abandon(n *recording) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n.group == nil {
		return // next drops it
	}
	if n.group.waiting--; n.group.waiting == 0 {
		n.group.cancel()
	}
}

// work commits one group after the other until nothing waits any more.
func (g *groups) work() {
	for g.wait() {
		if ctx, group := g.next(); group != nil {
			g.commitOrSplit(ctx, group.recordings)
			group.cancel()
		}
	}
}

// wait blocks until a group may begin. It returns false, and the worker ends, if no event waits or
// another worker is already waiting to begin.
func (g *groups) wait() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 || g.pausing {
		g.working--
		return false
	}
	if pause := time.Until(g.nextStart); pause > 0 {
		g.pausing = true
		g.mu.Unlock()
		time.Sleep(pause)
		g.mu.Lock()
		g.pausing = false
	}
	g.nextStart = time.Now().Add(g.interval)
	return true
}

// next forms a group of the events that have waited longest. It returns nil if none is left. A
// second event of one message stays for a later group; an event whose caller is gone is dropped.
func (g *groups) next() (context.Context, *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	next := &group{cancel: cancel}
	taken := map[string]bool{}
	rest := g.queue[:0]
	for _, n := range g.queue {
		switch {
		case n.ctx.Err() != nil:
		case len(next.recordings) < groupSize && !taken[n.key]:
			taken[n.key], n.group = true, next
			next.recordings = append(next.recordings, n)
		default:
			rest = append(rest, n)
		}
	}
	clear(g.queue[len(rest):])
	g.queue, next.waiting = rest, len(next.recordings)
	if next.waiting == 0 {
		cancel()
		return nil, nil
	}
	return ctx, next
}

// commitOrSplit commits a group. If that fails it commits each half separately, so that an event
// that the database refuses fails alone.
func (g *groups) commitOrSplit(ctx context.Context, all []*recording) {
	err := g.commit(ctx, all)
	if err != nil && len(all) > 1 && ctx.Err() == nil {
		half := len(all) / 2
		g.commitOrSplit(ctx, all[:half])
		g.commitOrSplit(ctx, all[half:])
		return
	}
	for _, n := range all {
		n.err = err
		close(n.done)
	}
}

// close refuses further events and waits until the queued ones are committed.
func (g *groups) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.workers.Wait()
}
