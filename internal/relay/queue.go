package relay

import (
	"context"
	"slices"
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
	// A conversation that comes again within recently rests first for againAfter since it
	// was in hand, so that what is said in quick succession goes in one signal.
	recently   = 5 * time.Second
	againAfter = 100 * time.Millisecond
)

// pace is how closely conversations follow each other in which nobody waits for an
// answer: the machine, which may be the workers' and the server's, too, has time for the
// door and for those that are awaited, and the longer they wait, the more each signal
// carries. The bot would only let them talk on.
type pace struct {
	// turns is how many turns' time two are apart: but no longer than farthest, if the
	// server is slow or away, and so that hardly any waits for longer than within.
	turns            time.Duration
	farthest, within time.Duration
}

var (
	// everybody is the pace of all together, those that speak for the first time among them.
	everybody = pace{turns: 2, farthest: 50 * time.Millisecond, within: 15 * time.Second}
	// again is that of those that come again, and slower, so that they leave turns to the
	// others. Their workflows know already that people talk, and wait for them to have finished.
	again = pace{turns: 4, farthest: 100 * time.Millisecond, within: 20 * time.Second}
)

// distance is how long after one the next of those that wait has its turn.
func (p pace) distance(took time.Duration, waiting int) time.Duration {
	return min(p.turns*took, p.within/time.Duration(max(1, waiting)), p.farthest)
}

// queue keeps the conversations that have something new until a worker takes them.
// Those of one Slack channel stand in line, and the channels take turns: a storm in
// one channel costs a word in another no more than the turns that are under way. Those
// in which somebody waits for an answer go first; the others keep a distance. A
// conversation stands in line once, and is in one hand at a time.
type queue struct {
	clock func() time.Time
	// after calls something at a later time; it is time.AfterFunc but for tests.
	after func(time.Duration, func())

	mu       sync.Mutex
	takeable sync.Cond // that there is a line to take from
	lines    map[place]*line
	turns    []*line // those with somebody waiting and a hand free, in order of their turns
	known    map[chat.Conversation]standing
	waiting  int
	apart    bool          // everybody keeps the distance to the one before
	again    []resting     // those that have come again, and rested
	spacing  bool          // they keep theirs
	took     time.Duration // about how long a conversation is in hand
}

// place is a Slack channel.
type place struct{ team, channel string }

func placeOf(c chat.Conversation) place { return place{c.Team, c.Channel} }

// line is the conversations of one channel.
type line struct {
	place   place
	waiting []chat.Conversation
	urgent  int       // how many of them, the first, are urgent
	hands   int       // how many are being relayed
	turn    bool      // it is among the turns
	pausing bool      // it gets its turn later
	ending  bool      // it is forgotten later
	paid    time.Time // when the turns it has had are made up for, one every turnEvery
}

// standing is where a conversation is, and since when: while it is in hand, since it
// was taken.
type standing struct {
	stage stage
	since time.Time
	haste haste // of what is new
}

// resting is a conversation that has come again, while it stands as it does.
type resting struct {
	conversation chat.Conversation
	standing     standing
}

type stage int

const (
	unknown stage = iota
	waits
	inHand
	inHandAgain // and there is something new since it was taken
	rests
	restsAgain // and there is something new
)

// haste is how soon a conversation has to be taken, by what is new in it.
type haste int

const (
	calm   haste = iota
	late         // it has waited elsewhere: the next need not keep a distance to it
	urgent       // somebody waits for an answer
)

func newQueue(clock func() time.Time) *queue {
	q := &queue{
		clock: clock, after: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
		lines: map[place]*line{}, known: map[chat.Conversation]standing{},
	}
	q.takeable.L = &q.mu
	return q
}

// push adds a conversation to its channel's line, at once or when it has rested, and
// reports whether that was news: it is not if it waits already, or if there is no room
// for it. One that is urgent does not rest, and goes before those of its channel that
// are not.
func (q *queue) push(c chat.Conversation, h haste) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := q.known[c]
	switch at.stage {
	case waits:
		if h == urgent && at.haste != urgent {
			l := q.lines[placeOf(c)]
			i := slices.Index(l.waiting, c)
			l.waiting = slices.Delete(l.waiting, i, i+1)
			q.waiting--
			q.enter(c, urgent)
		}
		return false
	case inHand, inHandAgain:
		q.known[c] = standing{inHandAgain, at.since, max(at.haste, h)}
		return at.stage == inHand
	case rests, restsAgain:
		switch {
		case h == urgent:
			q.enter(c, urgent)
		case at.stage == rests:
			q.comeAgain(c, at.since.Add(againAfter).Sub(q.clock()))
		}
		return at.stage == rests
	case unknown:
	}
	if l := q.lines[placeOf(c)]; q.waiting >= queueAtMost || (l != nil && len(l.waiting) >= linePerChannel) {
		return false
	}
	q.enter(c, h)
	return true
}

// untaken counts those of some conversations that are yet to be taken.
func (q *queue) untaken(some []chat.Conversation) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range some {
		if at := q.known[c].stage; at == waits || at == restsAgain {
			n++
		}
	}
	return n
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
	due := q.due()
	for ; due < 0 && ctx.Err() == nil; due = q.due() {
		q.takeable.Wait()
	}
	if ctx.Err() != nil {
		q.takeable.Signal() // it may have been this worker that was told of a turn
		return chat.Conversation{}, false
	}
	l := q.turns[due]
	q.turns = slices.Delete(q.turns, due, due+1)
	l.turn = false
	c := l.waiting[0]
	l.waiting = l.waiting[1:]
	switch {
	case l.urgent > 0:
		l.urgent--
	case q.known[c].haste == late:
	default:
		q.apart = true
		q.later(everybody.distance(q.took, q.waiting+len(q.again)), func() {
			q.apart = false
			q.takeable.Signal()
		})
	}
	l.hands++
	now := q.clock()
	if l.paid.Before(now) {
		l.paid = now
	}
	l.paid = l.paid.Add(turnEvery)
	q.waiting--
	q.known[c] = standing{stage: inHand, since: now}
	q.look(l)
	return c, true
}

// due is which of the turns is to be taken, or -1 if none is yet.
func (q *queue) due() int {
	if i := slices.IndexFunc(q.turns, func(l *line) bool { return l.urgent > 0 }); i >= 0 || q.apart || len(q.turns) == 0 {
		return i
	}
	return 0
}

// done ends a take; it says whether there is more for the conversation.
func (q *queue) done(c chat.Conversation, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	was := q.known[c]
	q.took += (q.clock().Sub(was.since) - q.took) / 8
	l := q.lines[placeOf(c)]
	l.hands--
	q.look(l)
	switch {
	case was.haste == urgent:
		q.enter(c, urgent)
		return
	case more || was.stage == inHandAgain:
		q.comeAgain(c, againAfter)
		return
	}
	now := standing{stage: rests, since: q.clock()}
	q.known[c] = now
	q.later(recently, func() {
		if q.known[c] == now { // and not anew
			delete(q.known, c)
		}
	})
}

// comeAgain has a conversation that rests, and has something new, take its turn among
// those that come again after a pause.
func (q *queue) comeAgain(c chat.Conversation, pause time.Duration) {
	r := resting{c, standing{stage: restsAgain, since: q.clock()}}
	q.known[c] = r.standing
	q.later(pause, func() {
		q.again = append(q.again, r)
		q.space()
	})
}

// space has those that come again enter their channels' lines one by one, at their pace.
func (q *queue) space() {
	for !q.spacing && len(q.again) > 0 {
		distance := again.distance(q.took, len(q.again))
		r := q.again[0]
		q.again = q.again[1:]
		if q.known[r.conversation] != r.standing {
			continue // it became urgent meanwhile
		}
		q.enter(r.conversation, calm)
		q.spacing = true
		q.later(distance, func() {
			q.spacing = false
			q.space()
		})
	}
}

// later does something after a while, or at once if that is over.
func (q *queue) later(d time.Duration, do func()) {
	if d <= 0 {
		do()
		return
	}
	q.after(d, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		do()
	})
}

// enter puts a conversation at the end of its channel's line, or of those there that are
// urgent.
func (q *queue) enter(c chat.Conversation, h haste) {
	l := q.lines[placeOf(c)]
	if l == nil {
		l = &line{place: placeOf(c)}
		q.lines[l.place] = l
	}
	at := len(l.waiting)
	if h == urgent {
		at = l.urgent
		l.urgent++
	}
	l.waiting = slices.Insert(l.waiting, at, c)
	q.known[c] = standing{waits, q.clock(), h}
	q.waiting++
	q.look(l)
	if h == urgent {
		q.takeable.Signal() // it may have had a turn that was not due
	}
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
	q.later(d, func() {
		*mark = false
		q.look(l)
	})
}
