package relay

import (
	"context"
	"sync"
	"time"

	"myao/internal/chat"
)

const (
	// handsPerChannel is how many conversations of one Slack channel are relayed side
	// by side: fewer than there are workers, so that no channel keeps them all.
	handsPerChannel = 3
	// linePerChannel is how many conversations of one channel stand in line at most;
	// more than a sweep brings, so that the sweep of a single channel gets on.
	linePerChannel = sweepAtOnce + 56
	// queueAtMost bounds the lines of all channels together.
	queueAtMost = 8192
	// Of one channel turnsAtOnce conversations go without a pause, and then one every
	// turnEvery. Slack takes one reply a second for a channel: so nobody is answered
	// later for it, and what a storm has the server and the workers do is spread over time.
	turnEvery   = 200 * time.Millisecond
	turnsAtOnce = 10
)

// queue keeps the conversations that have something new until a worker takes them.
// Those of one Slack channel stand in line, and the channels take turns: a storm in
// one channel costs a word in another no more than the turns that are under way. A
// conversation stands in line once, and is in one hand at a time.
type queue struct {
	clock func() time.Time
	// after calls something at a later time; it is time.AfterFunc but for tests.
	after func(time.Duration, func())

	mu       sync.Mutex
	takeable sync.Cond // that turns is not empty
	lines    map[place]*line
	turns    []*line // those with somebody waiting and a hand free, in order of their turns
	known    map[chat.Conversation]standing
	waiting  int
}

// place is a Slack channel.
type place struct{ team, channel string }

func placeOf(c chat.Conversation) place { return place{c.Team, c.Channel} }

// line is the conversations of one channel.
type line struct {
	place   place
	waiting []chat.Conversation
	hands   int       // how many are being relayed
	turn    bool      // it is among the turns
	pausing bool      // it gets its turn later
	ending  bool      // it is forgotten later
	paid    time.Time // when the turns it has had are made up for, one every turnEvery
}

// standing is where a conversation is.
type standing int

const (
	unknown standing = iota
	waits
	inHand
	inHandAgain // and there is something new since it was taken
)

func newQueue(clock func() time.Time) *queue {
	q := &queue{
		clock: clock, after: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
		lines: map[place]*line{}, known: map[chat.Conversation]standing{},
	}
	q.takeable.L = &q.mu
	return q
}

// push adds a conversation to its channel's line, and reports whether that was news:
// it is not if it waits already, or if there is no room for it.
func (q *queue) push(c chat.Conversation) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch q.known[c] {
	case waits, inHandAgain:
		return false
	case inHand:
		q.known[c] = inHandAgain
		return true
	case unknown:
	}
	l := q.lines[placeOf(c)]
	if q.waiting >= queueAtMost || (l != nil && len(l.waiting) >= linePerChannel) {
		return false
	}
	if l == nil {
		l = &line{place: placeOf(c)}
		q.lines[l.place] = l
	}
	q.enter(l, c)
	return true
}

// take waits for a conversation and takes it in hand. It reports false when the
// context ends. Who takes a conversation says when it is done.
func (q *queue) take(ctx context.Context) (chat.Conversation, bool) {
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.takeable.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.turns) == 0 && ctx.Err() == nil {
		q.takeable.Wait()
	}
	if ctx.Err() != nil {
		q.takeable.Signal() // it may have been this worker that was told of a turn
		return chat.Conversation{}, false
	}
	l := q.turns[0]
	q.turns = q.turns[1:]
	l.turn = false
	c := l.waiting[0]
	l.waiting = l.waiting[1:]
	l.hands++
	if now := q.clock(); l.paid.Before(now) {
		l.paid = now
	}
	l.paid = l.paid.Add(turnEvery)
	q.waiting--
	q.known[c] = inHand
	q.look(l)
	return c, true
}

// done ends a take. What was pushed meanwhile goes to the end of the line.
func (q *queue) done(c chat.Conversation) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[placeOf(c)]
	l.hands--
	again := q.known[c] == inHandAgain
	delete(q.known, c)
	if again {
		q.enter(l, c)
	}
	q.look(l)
}

// enter puts a conversation at the end of a line.
func (q *queue) enter(l *line, c chat.Conversation) {
	l.waiting = append(l.waiting, c)
	q.known[c] = waits
	q.waiting++
	q.look(l)
}

// look does with a line what is to be done now: it gives it a turn after all others,
// or forgets it.
func (q *queue) look(l *line) {
	switch {
	case len(l.waiting) == 0:
		q.forget(l)
	case l.turn || l.pausing || l.hands >= handsPerChannel:
	default:
		if pause := l.paid.Add(-(turnsAtOnce - 1) * turnEvery).Sub(q.clock()); pause > 0 {
			l.pausing = true
			q.lookAfter(pause, l, &l.pausing)
			return
		}
		l.turn = true
		q.turns = append(q.turns, l)
		q.takeable.Signal()
	}
}

// forget drops a line that nothing is left of, once it has made up for its turns: a
// storm that comes in gusts would know no pause else.
func (q *queue) forget(l *line) {
	if l.hands > 0 || l.ending {
		return
	}
	if pause := l.paid.Sub(q.clock()); pause > 0 {
		l.ending = true
		q.lookAfter(pause, l, &l.ending)
		return
	}
	delete(q.lines, l.place)
}

// lookAfter looks at a line again, which is marked as long as that is to come.
func (q *queue) lookAfter(d time.Duration, l *line, mark *bool) {
	q.after(d, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		*mark = false
		q.look(l)
	})
}
