package relay

import (
	"context"
	"slices"
	"sync"
	"time"

	"myao/internal/chat"
)

const (
	// channelConcurrency is how many conversations of one Slack channel are relayed at the
	// same time. There are more workers than that, so one channel cannot occupy them all.
	channelConcurrency = 3
	// channelLimit is how many conversations of one channel may be pending. It exceeds
	// sweepLimit, so that sweeping a single channel makes progress.
	channelLimit = sweepLimit + 56
	// queueLimit is how many conversations of all channels together may be pending.
	queueLimit = 8192
	// A channel may start channelBurst relays without a pause, and then one every
	// channelInterval. Slack takes one reply a second per channel, so this delays no
	// answer. It spreads the load of a storm on the server and the workers over time.
	channelInterval = 200 * time.Millisecond
	channelBurst    = 10
	// A conversation that gets new changes within repeatWindow of its last relay waits until
	// repeatDelay has passed since then. Messages in quick succession so share one signal.
	repeatWindow = 5 * time.Second
	repeatDelay  = 100 * time.Millisecond
)

// queue schedules the conversations that have new changes. Each Slack channel has a queue of
// its own; the workspaces are served round-robin, and so are the channels of each: a storm in one
// delays a message in another only by the relays in flight. Conversations in which somebody waits for an
// answer go first; the others are paced. A conversation is queued once, and relayed by one
// worker at a time.
type queue struct {
	clock func() time.Time
	// afterFunc is time.AfterFunc, except in tests.
	afterFunc func(time.Duration, func())

	mu        sync.Mutex
	wake      sync.Cond // a conversation may be ready to be taken
	channels  map[channelKey]*channelQueue
	runnable  []*channelQueue // pending, below channelConcurrency and not throttled; in round-robin order
	turns     int
	served    map[string]int // the last turn of each workspace
	entries   map[chat.Conversation]entry
	pending   int           // in the queues of all channels
	paced     bool          // the gap after the last conversation nobody waits for is not over
	repeats   []repeat      // repeated conversations whose repeatDelay is over
	spacing   bool          // the gap after the last of them is not over
	relayTime time.Duration // moving average of how long a conversation is in flight
}

// channelKey is a Slack channel.
type channelKey struct{ team, channel string }

func keyOf(c chat.Conversation) channelKey { return channelKey{c.Team, c.Channel} }

// channelQueue is the queue of one channel.
type channelQueue struct {
	key       channelKey
	pending   []chat.Conversation
	awaited   int       // how many of pending are awaited; they come first
	inFlight  int       // how many are being relayed
	runnable  bool      // it is in queue.runnable
	throttled bool      // a timer will make it runnable
	expiring  bool      // a timer will forget it
	refilled  time.Time // when the whole channelBurst is available again
}

// entry is a conversation's place in the queue.
type entry struct {
	status   status
	since    time.Time // of the status; of inFlight and inFlightAgain, since it was taken
	priority priority  // of the changes not relayed yet
}

// repeat is a repeated conversation; it is stale once the conversation's entry differs.
type repeat struct {
	conversation chat.Conversation
	entry        entry
}

type status int

const (
	absent        status = iota
	pending              // in its channel's queue
	inFlight             // being relayed
	inFlightAgain        // being relayed, with new changes since
	recent               // relayed within repeatWindow
	repeated             // relayed within repeatWindow, with new changes since
)

// priority is how soon a conversation's new changes are to be relayed.
type priority int

const (
	normal  priority = iota
	overdue          // found by the sweep: it has waited already, so the next one is not paced
	awaited          // somebody waits for an answer
)

func newQueue(clock func() time.Time) *queue {
	q := &queue{
		clock: clock, afterFunc: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
		channels: map[channelKey]*channelQueue{}, entries: map[chat.Conversation]entry{}, served: map[string]int{},
	}
	q.wake.L = &q.mu
	return q
}

// push queues a conversation, at once or after repeatDelay. An awaited one skips that delay,
// and goes before those of its channel that are not awaited. push reports whether this was
// news: false where the conversation is pending already, or its queue is full.
func (q *queue) push(c chat.Conversation, p priority) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entries[c]
	switch e.status {
	case pending:
		if p == awaited && e.priority != awaited {
			ch := q.channels[keyOf(c)]
			i := slices.Index(ch.pending, c)
			ch.pending = slices.Delete(ch.pending, i, i+1)
			q.pending--
			q.insert(c, awaited)
		}
		return false
	case inFlight, inFlightAgain:
		q.entries[c] = entry{inFlightAgain, e.since, max(e.priority, p)}
		return e.status == inFlight
	case recent, repeated:
		switch {
		case p == awaited:
			q.insert(c, awaited)
		case e.status == recent:
			q.requeue(c, e.since.Add(repeatDelay).Sub(q.clock()))
		}
		return e.status == recent
	case absent:
	}
	if ch := q.channels[keyOf(c)]; q.pending >= queueLimit || (ch != nil && len(ch.pending) >= channelLimit) {
		return false
	}
	q.insert(c, p)
	return true
}

// countPending counts those of the conversations that have yet to be taken.
func (q *queue) countPending(some []chat.Conversation) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range some {
		if s := q.entries[c].status; s == pending || s == repeated {
			n++
		}
	}
	return n
}

// take waits for a conversation and marks it as in flight; the caller must call done. It
// reports false when the context ends.
func (q *queue) take(ctx context.Context) (chat.Conversation, bool) {
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.wake.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	next := q.next()
	for ; next < 0 && ctx.Err() == nil; next = q.next() {
		q.wake.Wait()
	}
	if ctx.Err() != nil {
		q.wake.Signal() // this worker may have consumed the signal for another
		return chat.Conversation{}, false
	}
	ch := q.runnable[next]
	q.turns++
	q.served[ch.key.team] = q.turns
	q.runnable = slices.Delete(q.runnable, next, next+1)
	ch.runnable = false
	c := ch.pending[0]
	ch.pending = ch.pending[1:]
	switch {
	case ch.awaited > 0:
		ch.awaited--
	case q.entries[c].priority == overdue:
	default:
		q.paced = true
		q.after(normalPace.gap(q.relayTime, q.pending+len(q.repeats)), func() {
			q.paced = false
			q.wake.Signal()
		})
	}
	ch.inFlight++
	now := q.clock()
	if ch.refilled.Before(now) {
		ch.refilled = now
	}
	ch.refilled = ch.refilled.Add(channelInterval)
	q.pending--
	q.entries[c] = entry{status: inFlight, since: now}
	q.schedule(ch)
	return c, true
}

// next is the index in runnable of the channel to serve now, or -1: of those in which somebody waits for an answer, or
// else of all that the pace allows, the first of the workspace whose last turn was the longest ago.
func (q *queue) next() int {
	best := -1
	somebodyWaits := slices.ContainsFunc(q.runnable, func(ch *channelQueue) bool { return ch.awaited > 0 })
	for i, ch := range q.runnable {
		if somebodyWaits && ch.awaited == 0 || !somebodyWaits && q.paced {
			continue
		}
		if best < 0 || q.served[ch.key.team] < q.served[q.runnable[best].key.team] {
			best = i
		}
	}
	return best
}

// done ends a take. more says that the conversation still has changes to relay.
func (q *queue) done(c chat.Conversation, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	was := q.entries[c]
	q.relayTime += (q.clock().Sub(was.since) - q.relayTime) / 8
	ch := q.channels[keyOf(c)]
	ch.inFlight--
	q.schedule(ch)
	switch {
	case was.priority == awaited:
		q.insert(c, awaited)
		return
	case more || was.status == inFlightAgain:
		q.requeue(c, repeatDelay)
		return
	}
	now := entry{status: recent, since: q.clock()}
	q.entries[c] = now
	q.after(repeatWindow, func() {
		if q.entries[c] == now { // unchanged since
			delete(q.entries, c)
		}
	})
}

// requeue marks a conversation as repeated. After the delay it joins the repeats.
func (q *queue) requeue(c chat.Conversation, delay time.Duration) {
	r := repeat{c, entry{status: repeated, since: q.clock()}}
	q.entries[c] = r.entry
	q.after(delay, func() {
		q.repeats = append(q.repeats, r)
		q.releaseRepeats()
	})
}

// releaseRepeats moves repeated conversations to their channels' queues, one by one at
// repeatPace.
func (q *queue) releaseRepeats() {
	for !q.spacing && len(q.repeats) > 0 {
		gap := repeatPace.gap(q.relayTime, len(q.repeats))
		r := q.repeats[0]
		q.repeats = q.repeats[1:]
		if q.entries[r.conversation] != r.entry {
			continue // somebody waits for its answer now
		}
		q.insert(r.conversation, normal)
		q.spacing = true
		q.after(gap, func() {
			q.spacing = false
			q.releaseRepeats()
		})
	}
}

// after calls do with the lock held: later, or at once where d is not positive.
func (q *queue) after(d time.Duration, do func()) {
	if d <= 0 {
		do()
		return
	}
	q.afterFunc(d, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		do()
	})
}

// insert adds a conversation to its channel's queue: at the end, or if it is awaited behind
// the other awaited ones.
func (q *queue) insert(c chat.Conversation, p priority) {
	ch := q.channels[keyOf(c)]
	if ch == nil {
		ch = &channelQueue{key: keyOf(c)}
		q.channels[ch.key] = ch
	}
	at := len(ch.pending)
	if p == awaited {
		at = ch.awaited
		ch.awaited++
	}
	ch.pending = slices.Insert(ch.pending, at, c)
	q.entries[c] = entry{pending, q.clock(), p}
	q.pending++
	q.schedule(ch)
	if p == awaited {
		q.wake.Signal() // its channel may be runnable already, and held back by the pace
	}
}

// schedule makes a channel runnable if it may relay, starts the timer for that if it is
// throttled, and forgets it if it is empty.
func (q *queue) schedule(ch *channelQueue) {
	switch {
	case len(ch.pending) == 0:
		q.forget(ch)
	case ch.runnable || ch.throttled || ch.inFlight >= channelConcurrency:
	default:
		if delay := ch.refilled.Add(-(channelBurst - 1) * channelInterval).Sub(q.clock()); delay > 0 {
			ch.throttled = true
			q.scheduleAfter(delay, ch, &ch.throttled)
			return
		}
		ch.runnable = true
		q.runnable = append(q.runnable, ch)
		q.wake.Signal()
	}
}

// forget removes an empty channel once its burst is refilled. Sooner, a storm that comes in
// gusts would get a new burst each time.
func (q *queue) forget(ch *channelQueue) {
	if ch.inFlight > 0 || ch.expiring {
		return
	}
	if delay := ch.refilled.Sub(q.clock()); delay > 0 {
		ch.expiring = true
		q.scheduleAfter(delay, ch, &ch.expiring)
		return
	}
	delete(q.channels, ch.key)
}

// scheduleAfter schedules a channel later; flag is set until then.
func (q *queue) scheduleAfter(d time.Duration, ch *channelQueue, flag *bool) {
	q.after(d, func() {
		*flag = false
		q.schedule(ch)
	})
}
