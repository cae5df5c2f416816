package relay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
)

// thread is one of a channel's conversations, as "A3".
func thread(name string) chat.Conversation {
	return chat.Conversation{Team: "T1", Channel: name[:1], Thread: name[1:]}
}

func nameOf(c chat.Conversation) string { return c.Channel + c.Thread }

// hourglass is a clock that a test turns on.
type hourglass struct {
	now   time.Time
	calls []timed // what is to be called, and when
}

type timed struct {
	at   time.Time
	call func()
}

func setupQueue() (*queue, *hourglass) {
	h := &hourglass{now: time.Date(2024, 3, 1, 10, 0, 0, 0, time.UTC)}
	q := newQueue(func() time.Time { return h.now })
	q.after = func(d time.Duration, f func()) { h.calls = append(h.calls, timed{h.now.Add(d), f}) }
	return q, h
}

func (h *hourglass) elapse(d time.Duration) {
	h.now = h.now.Add(d)
	calls := h.calls
	h.calls = nil
	for _, c := range calls {
		if c.at.After(h.now) {
			h.calls = append(h.calls, c)
		} else {
			c.call()
		}
	}
}

// work takes in hand all that is to be taken now, each for as long as a turn takes.
func (q *queue) work(t *testing.T, glass *hourglass, turn time.Duration) (taken []chat.Conversation) {
	t.Helper()
	for q.due() >= 0 {
		c, ok := q.take(t.Context())
		if !ok {
			t.Fatal("nothing taken though there was something")
		}
		taken = append(taken, c)
		glass.calls = append(glass.calls, timed{glass.now.Add(turn), func() { q.done(c, false) }})
	}
	return taken
}

// next is what take hands out now, or "" where it would wait.
func (q *queue) next(t *testing.T) string {
	t.Helper()
	q.mu.Lock()
	empty := q.due() < 0
	q.mu.Unlock()
	if empty {
		return ""
	}
	c, ok := q.take(t.Context())
	if !ok {
		t.Fatal("nothing taken though there was something")
	}
	return nameOf(c)
}

func TestChannelsTakeTurns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		// do is in order: +A1 pushes, !A1 does so urgently, -A1 is done with, *A1 is, and there is more, ?A1 is what
		// is taken, ? that nothing is, _ a rest.
		do string
	}{
		{"in order of coming", "+A1 +A2 +A3 ?A1 ?A2 ?A3 ?"},
		{"in turn", "+A1 +A2 +A3 +B1 +C1 +C2 ?A1 ?B1 ?C1 ?A2 ?C2 ?A3 ?"},
		{"who comes late waits for one turn", "+A1 +A2 +A3 ?A1 +B1 ?A2 ?B1 ?A3 ?"},
		{"a channel has three in hand", "+A1 +A2 +A3 +A4 +A5 ?A1 ?A2 ?A3 ? -A2 ?A4 ? -A1 ?A5 -A3 -A4 -A5 ?"},
		{"and stands aside for others meanwhile", "+A1 +A2 +A3 +A4 ?A1 ?A2 ?A3 +B1 +B2 ?B1 -A1 ?B2 ?A4 ?"},
		{"waiting, it is in line once", "+A1 +B1 +A1 +A1 ?A1 ?B1 ?"},
		{"in hand, it waits for its end and a rest", "+A1 ?A1 +A1 +A1 ? -A1 ? _ ?A1 ? -A1 _ ?"},
		{"and goes to the end of the line", "+A1 ?A1 +A1 -A1 +A2 _ ?A2 ?A1 ?"},
		{"pushed again in a full hand", "+A1 +A2 +A3 ?A1 ?A2 ?A3 +A2 ? -A2 _ ?A2 ?"},
		{"there is more of it", "+A1 ?A1 *A1 +A1 ? _ ?A1 ? -A1 _ ?"},
		{"done with, it rests", "+A1 ?A1 -A1 +A1 +A1 ? _ ?A1 ? -A1 _ ?"},
		{"and the others do not", "+A1 ?A1 -A1 +A1 +A2 +B1 ?A2 ?B1 ? _ ?A1 ?"},
		{"urgent, it does not rest", "+A1 ?A1 -A1 !A1 ?A1 ? -A1 _ ?"},
		{"nor after it was in hand", "+A1 ?A1 !A1 +A1 ? -A1 ?A1 ? -A1 _ ?"},
		{"nor when it has come again", "+A1 ?A1 -A1 +A1 ? !A1 ?A1 ? _ ? -A1 _ ?"},
		{"and its old rest is forgotten", "+A1 ?A1 -A1 +A1 !A1 ?A1 -A1 +A1 ? _ ?A1 ? -A1 _ ?"},
		{"it goes before its channel's others", "+A1 +A2 !A3 !A4 ?A3 ?A4 ?A1"},
		{"also when it waits already", "+A1 +A2 +A3 !A3 !A3 ?A3 ?A1 ?A2 ?"},
		{"and not before another channel's", "+A1 +B1 !A2 ?A2 ?B1 ?A1 ?"},
		{"rested, it is new", "+A1 ?A1 -A1 _ ? +A1 ?A1 -A1 _ ?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			q, glass := setupQueue()
			for i, step := range strings.Fields(test.do) {
				switch name := step[1:]; step[0] {
				case '+':
					q.push(thread(name), calm)
				case '!':
					q.push(thread(name), urgent)
				case '-', '*':
					q.done(thread(name), step[0] == '*')
				case '_':
					glass.elapse(againAfter)
				default:
					if got := q.next(t); got != name {
						t.Fatalf("step %d, %s: taken %q", i, step, got)
					}
				}
			}
			inLine := 0
			for _, l := range q.lines {
				inLine += len(l.waiting)
			}
			if q.waiting != inLine {
				t.Errorf("%d are counted of %d in line", q.waiting, inLine)
			}
		})
	}
}

func TestPushReportsWhatIsNew(t *testing.T) {
	t.Parallel()
	q, glass := setupQueue()
	push := func(name string, want bool, why string) {
		t.Helper()
		if got := q.push(thread(name), calm); got != want {
			t.Errorf("push %s reports %v, want %v: %s", name, got, want, why)
		}
	}
	push("A1", true, "it is new")
	push("A1", false, "it waits")
	q.next(t)
	push("A1", true, "it is in hand, and there is more")
	push("A1", false, "it will be taken again already")
	q.done(thread("A1"), false)
	push("A1", false, "it will be taken again when it has rested")
	glass.elapse(againAfter)
	q.next(t)
	q.done(thread("A1"), false)
	push("A1", true, "it rests, and there is something new")
	push("A1", false, "that is known")
}

// Conversations that always have something new come in hand at a pace that leaves the
// machine time. Another one's first word hardly waits for them, and one that is urgent not at all.
func TestThoseThatComeAgainKeepTheirPace(t *testing.T) {
	t.Parallel()
	const tick, lasts = 5 * time.Millisecond, 30 * time.Second
	for _, test := range []struct {
		conversations int
		took          time.Duration
		want          float64 // turns a second
	}{
		{1, 20 * time.Millisecond, 5},    // a channel's pace
		{8, 20 * time.Millisecond, 12.5}, // one every four turns' time
		{50, 80 * time.Millisecond, 10},  // no farther apart than that
		{500, 20 * time.Millisecond, 25}, // none waits for longer than twenty seconds
		{500, 2 * time.Second, 500 / 22.},
	} {
		t.Run(fmt.Sprintf("%d, %v", test.conversations, test.took), func(t *testing.T) {
			t.Parallel()
			q, glass := setupQueue()
			turns := 0
			for n := range int(2 * lasts / tick) {
				if n == int(lasts/tick) {
					turns = 0 // by now they all have come before
				}
				for c := range test.conversations {
					q.push(chat.Conversation{Team: "T1", Channel: fmt.Sprint("C", c)}, calm)
				}
				first, asked := chat.Conversation{Team: "T1", Channel: fmt.Sprint("new", n/100)}, chat.Conversation{Team: "T1", Channel: fmt.Sprint("urgent", n/100)}
				if n%100 == 0 {
					q.push(first, calm)
					q.push(asked, urgent)
				}
				for _, c := range q.work(t, glass, test.took) {
					if c.Channel[0] == 'C' {
						turns++
					}
				}
				if at := q.known[asked].stage; at == waits {
					t.Fatal("one that is urgent waits")
				}
				if at := q.known[first].stage; at == waits && n > int(lasts/tick) && n%100 > int(again.farthest/tick) {
					t.Fatal("the first word of another waits")
				}
				glass.elapse(tick)
			}
			got := float64(turns) / lasts.Seconds()
			if got < .8*test.want || got > 1.2*test.want {
				t.Errorf("%.1f turns a second, want %.1f", got, test.want)
			}
		})
	}
}

// Those that all begin to talk at once are told one after the other; who becomes urgent
// meanwhile goes first.
func TestEverybodyKeepsADistance(t *testing.T) {
	t.Parallel()
	const tick, took = 5 * time.Millisecond, 20 * time.Millisecond
	for _, test := range []struct {
		conversations int
		within        time.Duration
	}{
		{1, tick},
		{10, 10 * everybody.turns * took},
		{100, 100 * everybody.turns * took},
		{2000, 3 * everybody.within}, // there are always fewer, so each waits a little less long
	} {
		t.Run(fmt.Sprint(test.conversations), func(t *testing.T) {
			t.Parallel()
			q, glass := setupQueue()
			q.took = took
			in := func(n int) chat.Conversation { return chat.Conversation{Team: "T1", Channel: fmt.Sprint("C", n)} }
			for n := range test.conversations {
				q.push(in(n), calm)
			}
			taken, last := 0, time.Duration(0)
			for now := time.Duration(0); now < 2*time.Minute; now += tick {
				if n := len(q.work(t, glass, took)); n > 0 {
					taken, last = taken+n, now
				}
				if now == 0 {
					if taken != 1 {
						t.Fatalf("%d were taken at once", taken)
					}
					for n := range min(3, test.conversations-1) {
						q.push(in(test.conversations-1-n), urgent)
						if got := q.next(t); got != nameOf(in(test.conversations-1-n)) {
							t.Fatalf("%q was taken in place of the urgent one", got)
						}
						taken++
					}
				}
				glass.elapse(tick)
			}
			if taken != test.conversations {
				t.Fatalf("%d of %d were taken", taken, test.conversations)
			}
			if last > test.within || last < test.within/3 && test.conversations > 1 {
				t.Errorf("the last was taken after %v, want about %v", last, test.within)
			}
		})
	}
}

// What has waited elsewhere, as while the server was away, makes nobody wait.
func TestLateOnesKeepNoDistance(t *testing.T) {
	t.Parallel()
	q, _ := setupQueue()
	q.took = time.Second
	for n := range 20 {
		if !q.push(chat.Conversation{Team: "T1", Channel: fmt.Sprint("C", n)}, late) {
			t.Fatal("it was known")
		}
	}
	for n := range 20 {
		if got, want := q.next(t), fmt.Sprint("C", n); got != want {
			t.Fatalf("taken %q, want %q", got, want)
		}
	}
}

// However much is pushed, the lines stay bounded, one channel's too: a storm does not
// take the room of the others. What has been worked off leaves nothing behind.
func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	q, glass := setupQueue()
	channels := queueAtMost/linePerChannel + 10
	in := func(channel, n int) chat.Conversation {
		return chat.Conversation{Team: "T1", Channel: fmt.Sprint("C", channel), Thread: fmt.Sprint(n)}
	}
	for channel := range channels {
		for n := range linePerChannel + 10 {
			if took, want := q.push(in(channel, n), calm), n < linePerChannel; channel == 0 && took != want {
				t.Fatalf("push %d of a channel: %v", n, took)
			}
		}
		if channel == 0 && !q.push(thread("A1"), calm) {
			t.Error("a storm leaves no room for another channel")
		}
	}
	if q.waiting != queueAtMost || len(q.known) != queueAtMost {
		t.Errorf("%d wait, %d are known; want %d", q.waiting, len(q.known), queueAtMost)
	}
	for range queueAtMost {
		for len(q.turns) == 0 {
			glass.elapse(turnEvery)
		}
		c, _ := q.take(t.Context())
		q.done(c, false)
	}
	glass.elapse(recently)
	if q.waiting != 0 || len(q.known) != 0 || len(q.lines) != 0 || len(q.turns) != 0 {
		t.Errorf("left behind: %d waiting, %d known, %d lines, %d turns", q.waiting, len(q.known), len(q.lines), len(q.turns))
	}
}

// A channel's turns come at a pace once it has had some, however its words come.
func TestStormIsSpreadOverTime(t *testing.T) {
	t.Parallel()
	const tick, ticks = 20 * time.Millisecond, 500
	for _, test := range []struct{ gust, pause, want int }{
		{gust: 1, pause: 50, want: 10},                                          // one a second: none waits
		{gust: 10, pause: 100, want: 50},                                        // ten at once, and then two seconds of rest
		{gust: 1, pause: 1, want: turnsAtOnce + int(ticks*tick/turnEvery)},      // fifty a second
		{gust: 20, pause: 50, want: turnsAtOnce + int(ticks*tick/turnEvery)},    // in gusts
		{gust: 50, pause: ticks, want: 50},                                      // all at once
		{gust: 10000, pause: 50, want: turnsAtOnce + int(ticks*tick/turnEvery)}, // more than stand in line
	} {
		t.Run(fmt.Sprintf("%d every %d ticks", test.gust, test.pause), func(t *testing.T) {
			t.Parallel()
			q, glass := setupQueue()
			said, taken := 0, 0
			for n := range ticks {
				for range test.gust {
					if n%test.pause == 0 {
						q.push(thread(fmt.Sprint("A", said)), calm)
						said++
					}
				}
				for name := q.next(t); name != ""; name = q.next(t) {
					q.done(thread(name), false)
					taken++
				}
				glass.elapse(tick)
			}
			if taken < test.want-1 || taken > test.want+1 {
				t.Errorf("%d turns in %v, want %d", taken, ticks*tick, test.want)
			}
		})
	}
}

// While one channel pauses, the others do not.
func TestPauseIsOneChannelsOwn(t *testing.T) {
	t.Parallel()
	q, glass := setupQueue()
	for n := range turnsAtOnce + 2 {
		q.push(thread(fmt.Sprint("A", n)), calm)
	}
	for n := range turnsAtOnce {
		if got := q.next(t); got != fmt.Sprint("A", n) {
			t.Fatalf("taken %q", got)
		}
		q.done(thread(fmt.Sprint("A", n)), false)
	}
	if got := q.next(t); got != "" {
		t.Errorf("taken %q without a pause", got)
	}
	q.push(thread("B1"), calm)
	if got := q.next(t); got != "B1" {
		t.Errorf("taken %q, want the other channel's", got)
	}
	glass.elapse(turnEvery)
	if got, then := q.next(t), q.next(t); got != "A10" || then != "" {
		t.Errorf("taken %q and %q after a pause, want one more", got, then)
	}
}

func TestTakeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	q, _ := setupQueue()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	for range 3 {
		go func() { _, ok := q.take(ctx); ended <- ok }()
	}
	cancel()
	for range 3 {
		select {
		case ok := <-ended:
			if ok {
				t.Error("something was taken")
			}
		case <-time.After(20 * time.Second):
			t.Fatal("take does not return")
		}
	}
}

// Whatever many do at once: what was pushed is taken afterwards, nothing is in two
// hands, and no channel has more hands than it may.
func TestQueueUnderManyHands(t *testing.T) {
	t.Parallel()
	const faster = 1000 // than the world's clock
	began := time.Now()
	q := newQueue(func() time.Time { return began.Add(faster * time.Since(began)) })
	q.after = func(d time.Duration, f func()) { time.AfterFunc(d/faster, f) }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var (
		mu    sync.Mutex
		hands = map[string]int{}
		held  = map[chat.Conversation]bool{}
		owed  = map[chat.Conversation]bool{} // pushed, and not taken since
	)
	var workers, pushers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for {
				c, ok := q.take(ctx)
				if !ok {
					return
				}
				mu.Lock()
				if hands[c.Channel]++; hands[c.Channel] > handsPerChannel || held[c] {
					t.Errorf("%s: %d of its channel in hand, held already: %v", nameOf(c), hands[c.Channel], held[c])
				}
				held[c] = true
				delete(owed, c)
				mu.Unlock()
				if rand.IntN(4) == 0 {
					time.Sleep(time.Duration(rand.IntN(100)) * time.Microsecond)
				}
				mu.Lock()
				hands[c.Channel]--
				held[c] = false
				mu.Unlock()
				q.done(c, false)
			}
		})
	}
	for range 4 {
		pushers.Go(func() {
			for range 3000 {
				c := thread(fmt.Sprint(string("AABC"[rand.IntN(4)]), rand.IntN(20)))
				mu.Lock()
				owed[c] = true
				mu.Unlock()
				q.push(c, []haste{calm, calm, calm, calm, urgent}[rand.IntN(5)])
			}
		})
	}
	pushers.Wait()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		mu.Lock()
		left := len(owed)
		mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d were pushed and never taken", left)
		}
	}
	// What was pushed between a take and its mark is in line and no longer owed: the
	// workers go on until nothing is left.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		q.mu.Lock()
		lines, known := len(q.lines), len(q.known)
		q.mu.Unlock()
		if lines+known == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %d lines, %d conversations", lines, known)
		}
	}
	cancel()
	workers.Wait()
}

// Of the conversations that hear of a mention the one with the answer goes first.
func TestKickLetsTheAnswerGoBefore(t *testing.T) {
	thread, channel := chat.Conversation{Team: "T1", Channel: "C1", Thread: "1.000001"}, chat.Conversation{Team: "T1", Channel: "C1"}
	r := &Relay{queue: newQueue(time.Now)}
	var later []func()
	r.queue.after = func(_ time.Duration, do func()) { later = append(later, do) }
	waiting := func() (n int) { return r.queue.untaken([]chat.Conversation{thread, channel}) }
	r.Notify(store.Target{Conversation: channel}, store.Target{Conversation: thread, Awaited: true})
	if got, ok := r.queue.take(t.Context()); !ok || got != thread || waiting() != 0 {
		t.Fatalf("%v is taken first, and %d wait", got, waiting())
	}
	for _, do := range later {
		do()
	}
	if got, ok := r.queue.take(t.Context()); !ok || got != channel {
		t.Errorf("%v is taken next", got)
	}
	r = &Relay{queue: newQueue(time.Now)}
	if r.Notify(store.Target{Conversation: channel}, store.Target{Conversation: thread}); waiting() != 2 {
		t.Errorf("%d wait, want both: nobody waits for an answer", waiting())
	}
}
