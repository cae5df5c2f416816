package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// groupSize is how much news is committed at once.
	groupSize = 256
	// groupInterval is how long after each other groups begin at least: what comes within the
	// blink of an eye is committed together. A message alone costs as much as ten.
	groupInterval = 10 * time.Millisecond
	// groupQueue is how much news may wait. What is more is refused: whoever brings it
	// would not wait so long.
	groupQueue = 8192
)

var (
	errQueueFull = errors.New("too much is waiting to be committed")
	errClosed    = errors.New("the store is closed")
)

// groups commits news in groups, since what a commit costs is mostly the way to the
// database and the disk. News that comes while fewer groups than may be are under way
// begins one at once, or apart after the group before; what comes meanwhile waits, and is
// the next group together.
type groups struct {
	// concurrency is how many groups may be under way.
	concurrency int
	// interval is how long after each other groups begin at least.
	interval time.Duration
	// commit commits all of a group or nothing. Of one message there is one piece of news in it.
	commit func(ctx context.Context, group []*recording) error

	mu        sync.Mutex
	queue     []*recording
	nextStart time.Time // when the next group may begin
	pausing   bool      // a worker waits for that
	working   int
	closed    bool
	workers   sync.WaitGroup
}

// group is news that is committed together. It goes on while anybody waits for it.
type group struct {
	recordings []*recording
	waiting    int // how many do
	cancel     context.CancelFunc
}

// do commits news, or returns the error of its context as soon as that has ended: then it
// may be committed yet.
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

// abandon is called by who does not wait for its news any more.
func (g *groups) abandon(n *recording) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n.group == nil {
		return // take drops it
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

// wait waits until a group may begin. It ends the worker that asked where no news waits.
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

// next takes the news that has waited longest. A second piece of news of one message waits
// for the next group; what nobody waits for any more is dropped. There may be no group left.
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

// commitOrSplit commits a group, and if that fails each half of it by itself: news that the database
// refuses fails alone.
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

// close refuses further news, and waits until what was taken is committed.
func (g *groups) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.workers.Wait()
}
