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

// thread is a conversation by its channel and number, as "A3".
func thread(name string) chat.Conversation {
	return chat.Conversation{Team: "T1", Channel: name[:1], Thread: name[1:]}
}

func nameOf(c chat.Conversation) string { return c.Channel + c.Thread }

// fakeClock is a clock that moves when the test says so.
type fakeClock struct {
	now    time.Time
	timers []timer
}

type timer struct {
	at   time.Time
	call func()
}

func setupQueue() (*queue, *fakeClock) {
	clock := &fakeClock{now: time.Date(2024, 3, 1, 10, 0, 0, 0, time.UTC)}
	q := newQueue(func() time.Time { return clock.now })
	q.afterFunc = func(d time.Duration, f func()) { clock.timers = append(clock.timers, timer{clock.now.Add(d), f}) }
	return q, clock
}

func (c *fakeClock) advance(d time.Duration) {
	c.now = c.now.Add(d)
	timers := c.timers
	c.timers = nil
	for _, t := range timers {
		if t.at.After(c.now) {
			c.timers = append(c.timers, t)
		} else {
			t.call()
		}
	}
}

// work takes everything that can be taken now, and is done with each after relayTime.
func (q *queue) work(t *testing.T, clock *fakeClock, relayTime time.Duration) (taken []chat.Conversation) {
	t.Helper()
	for q.next() >= 0 {
		c, ok := q.take(t.Context())
		if !ok {
			t.Fatal("nothing was taken, though something was ready")
		}
		taken = append(taken, c)
		clock.timers = append(clock.timers, timer{clock.now.Add(relayTime), func() { q.done(c, false) }})
	}
	return taken
}

// tryTake names what take returns now, or "" if it would block.
func (q *queue) tryTake(t *testing.T) string {
	t.Helper()
	q.mu.Lock()
	empty := q.next() < 0
	q.mu.Unlock()
	if empty {
		return ""
	}
	c, ok := q.take(t.Context())
	if !ok {
		t.Fatal("nothing was taken, though something was ready")
	}
	return nameOf(c)
}

func TestChannelsTakeTurns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		// do lists steps: +A1 pushes, !A1 pushes as awaited, -A1 is done, *A1 is done with
		// more pending, ?A1 takes A1, ? takes nothing, _ waits for repeatDelay.
		do string
	}{
		{"in order of arrival", "+A1 +A2 +A3 ?A1 ?A2 ?A3 ?"},
		{"round-robin", "+A1 +A2 +A3 +B1 +C1 +C2 ?A1 ?B1 ?C1 ?A2 ?C2 ?A3 ?"},
		{"a late channel waits for one turn", "+A1 +A2 +A3 ?A1 +B1 ?A2 ?B1 ?A3 ?"},
		{"a channel has three in flight", "+A1 +A2 +A3 +A4 +A5 ?A1 ?A2 ?A3 ? -A2 ?A4 ? -A1 ?A5 -A3 -A4 -A5 ?"},
		{"and lets others go meanwhile", "+A1 +A2 +A3 +A4 ?A1 ?A2 ?A3 +B1 +B2 ?B1 -A1 ?B2 ?A4 ?"},
		{"pending, it is queued once", "+A1 +B1 +A1 +A1 ?A1 ?B1 ?"},
		{"in flight, it waits for its end and the delay", "+A1 ?A1 +A1 +A1 ? -A1 ? _ ?A1 ? -A1 _ ?"},
		{"and goes to the end of the queue", "+A1 ?A1 +A1 -A1 +A2 _ ?A2 ?A1 ?"},
		{"pushed again at full concurrency", "+A1 +A2 +A3 ?A1 ?A2 ?A3 +A2 ? -A2 _ ?A2 ?"},
		{"done with more pending", "+A1 ?A1 *A1 +A1 ? _ ?A1 ? -A1 _ ?"},
		{"done, a new push waits for the delay", "+A1 ?A1 -A1 +A1 +A1 ? _ ?A1 ? -A1 _ ?"},
		{"and others do not wait", "+A1 ?A1 -A1 +A1 +A2 +B1 ?A2 ?B1 ? _ ?A1 ?"},
		{"awaited, it skips the delay", "+A1 ?A1 -A1 !A1 ?A1 ? -A1 _ ?"},
		{"awaited while in flight, it skips the delay", "+A1 ?A1 !A1 +A1 ? -A1 ?A1 ? -A1 _ ?"},
		{"awaited while repeated, it skips the delay", "+A1 ?A1 -A1 +A1 ? !A1 ?A1 ? _ ? -A1 _ ?"},
		{"and its old delay is void", "+A1 ?A1 -A1 +A1 !A1 ?A1 -A1 +A1 ? _ ?A1 ? -A1 _ ?"},
		{"awaited, it goes first in its channel", "+A1 +A2 !A3 !A4 ?A3 ?A4 ?A1"},
		{"awaited while pending, it goes first in its channel", "+A1 +A2 +A3 !A3 !A3 ?A3 ?A1 ?A2 ?"},
		{"awaited, it goes before other channels, which keep their order", "+A1 +B1 !A2 ?A2 ?B1 ?A1 ?"},
		{"after the window, it is new", "+A1 ?A1 -A1 _ ? +A1 ?A1 -A1 _ ?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			q, clock := setupQueue()
			for i, step := range strings.Fields(test.do) {
				switch name := step[1:]; step[0] {
				case '+':
					q.push(thread(name), normal)
				case '!':
					q.push(thread(name), awaited)
				case '-', '*':
					q.done(thread(name), step[0] == '*')
				case '_':
					clock.advance(repeatDelay)
				default:
					if got := q.tryTake(t); got != name {
						t.Fatalf("step %d, %s: taken %q", i, step, got)
					}
				}
			}
			queued := 0
			for _, ch := range q.channels {
				queued += len(ch.pending)
			}
			if q.pending != queued {
				t.Errorf("pending is %d, but %d are queued", q.pending, queued)
			}
		})
	}
}

// A workspace with many channels has as many turns as one with a single channel.
func TestWorkspacesTakeTurns(t *testing.T) {
	q, _ := setupQueue()
	for _, name := range []string{"A1", "B1", "C1", "D1"} {
		q.push(thread(name), awaited)
	}
	q.push(chat.Conversation{Team: "T2", Channel: "Q", Thread: "1"}, awaited)
	q.push(chat.Conversation{Team: "T2", Channel: "R", Thread: "1"}, awaited)
	var got []string
	for name := q.tryTake(t); name != ""; name = q.tryTake(t) {
		got = append(got, name)
	}
	if want := "A1 Q1 B1 R1 C1 D1"; strings.Join(got, " ") != want {
		t.Errorf("taken are %v, want %s", got, want)
	}
}

func TestPushReportsWhatIsNew(t *testing.T) {
	t.Parallel()
	q, clock := setupQueue()
	push := func(name string, want bool, why string) {
		t.Helper()
		if got := q.push(thread(name), normal); got != want {
			t.Errorf("push %s reports %v, want %v: %s", name, got, want, why)
		}
	}
	push("A1", true, "it is new")
	push("A1", false, "it is pending")
	q.tryTake(t)
	push("A1", true, "it is in flight, and there is more")
	push("A1", false, "it will be taken again anyway")
	q.done(thread("A1"), false)
	push("A1", false, "it will be taken again after the delay")
	clock.advance(repeatDelay)
	q.tryTake(t)
	q.done(thread("A1"), false)
	push("A1", true, "it was relayed, and there is something new")
	push("A1", false, "it is repeated already")
}

// Conversations with a steady stream of changes are paced. They hardly delay the first message
// of another conversation, and never an awaited one.
func TestRepeatsArePaced(t *testing.T) {
	t.Parallel()
	const tick, lasts = 5 * time.Millisecond, 30 * time.Second
	for _, test := range []struct {
		conversations int
		relayTime     time.Duration
		want          float64 // relays per second
	}{
		{1, 20 * time.Millisecond, 5},    // channelInterval
		{8, 20 * time.Millisecond, 12.5}, // one every four relay times
		{50, 80 * time.Millisecond, 10},  // maxGap
		{500, 20 * time.Millisecond, 25}, // maxWait
		{500, 2 * time.Second, 500 / 22.},
	} {
		t.Run(fmt.Sprintf("%d, %v", test.conversations, test.relayTime), func(t *testing.T) {
			t.Parallel()
			q, clock := setupQueue()
			relays := 0
			for n := range int(2 * lasts / tick) {
				if n == int(lasts/tick) {
					relays = 0 // by now all are repeats
				}
				for c := range test.conversations {
					q.push(chat.Conversation{Team: "T1", Channel: fmt.Sprint("C", c)}, normal)
				}
				first, mention := chat.Conversation{Team: "T1", Channel: fmt.Sprint("new", n/100)}, chat.Conversation{Team: "T1", Channel: fmt.Sprint("mention", n/100)}
				if n%100 == 0 {
					q.push(first, normal)
					q.push(mention, awaited)
				}
				for _, c := range q.work(t, clock, test.relayTime) {
					if c.Channel[0] == 'C' {
						relays++
					}
				}
				if q.entries[mention].status == pending {
					t.Fatal("an awaited conversation waits")
				}
				if q.entries[first].status == pending && n > int(lasts/tick) && n%100 > int(repeatPace.maxGap/tick) {
					t.Fatal("the first message of another conversation waits")
				}
				clock.advance(tick)
			}
			got := float64(relays) / lasts.Seconds()
			if got < .8*test.want || got > 1.2*test.want {
				t.Errorf("%.1f relays per second, want %.1f", got, test.want)
			}
		})
	}
}

// Conversations that all begin at once are spaced out. One that becomes awaited meanwhile goes
// first.
func TestFirstMessagesArePaced(t *testing.T) {
	t.Parallel()
	const tick, relayTime = 5 * time.Millisecond, 20 * time.Millisecond
	for _, test := range []struct {
		conversations int
		within        time.Duration
	}{
		{1, tick},
		{10, 10 * normalPace.factor * relayTime},
		{100, 100 * normalPace.factor * relayTime},
		{2000, 3 * normalPace.maxWait}, // the gap grows as fewer are pending
	} {
		t.Run(fmt.Sprint(test.conversations), func(t *testing.T) {
			t.Parallel()
			q, clock := setupQueue()
			q.relayTime = relayTime
			in := func(n int) chat.Conversation { return chat.Conversation{Team: "T1", Channel: fmt.Sprint("C", n)} }
			for n := range test.conversations {
				q.push(in(n), normal)
			}
			taken, last := 0, time.Duration(0)
			for now := time.Duration(0); now < 2*time.Minute; now += tick {
				if n := len(q.work(t, clock, relayTime)); n > 0 {
					taken, last = taken+n, now
				}
				if now == 0 {
					if taken != 1 {
						t.Fatalf("%d were taken at once", taken)
					}
					for n := range min(3, test.conversations-1) {
						q.push(in(test.conversations-1-n), awaited)
						if got := q.tryTake(t); got != nameOf(in(test.conversations-1-n)) {
							t.Fatalf("%q was taken before the awaited one", got)
						}
						taken++
					}
				}
				clock.advance(tick)
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

// Conversations from the backlog have waited already, and are not spaced out.
func TestOverdueOnesAreNotPaced(t *testing.T) {
	t.Parallel()
	q, _ := setupQueue()
	q.relayTime = time.Second
	for n := range 20 {
		if !q.push(chat.Conversation{Team: "T1", Channel: fmt.Sprint("C", n)}, overdue) {
			t.Fatal("it was queued already")
		}
	}
	for n := range 20 {
		if got, want := q.tryTake(t), fmt.Sprint("C", n); got != want {
			t.Fatalf("taken %q, want %q", got, want)
		}
	}
}

// The queue is bounded, in all and by channel: a storm leaves room for other channels. What
// was relayed leaves nothing behind.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	q, clock := setupQueue()
	channels := queueLimit/channelLimit + 10
	in := func(channel, n int) chat.Conversation {
		return chat.Conversation{Team: "T1", Channel: fmt.Sprint("C", channel), Thread: fmt.Sprint(n)}
	}
	for channel := range channels {
		for n := range channelLimit + 10 {
			if queued, want := q.push(in(channel, n), normal), n < channelLimit; channel == 0 && queued != want {
				t.Fatalf("push %d of a channel: %v", n, queued)
			}
		}
		if channel == 0 && !q.push(thread("A1"), normal) {
			t.Error("a storm leaves no room for another channel")
		}
	}
	if q.pending != queueLimit || len(q.entries) != queueLimit {
		t.Errorf("%d pending, %d entries; want %d", q.pending, len(q.entries), queueLimit)
	}
	for range queueLimit {
		for len(q.runnable) == 0 {
			clock.advance(channelInterval)
		}
		c, _ := q.take(t.Context())
		q.done(c, false)
	}
	clock.advance(repeatWindow)
	if q.pending != 0 || len(q.entries) != 0 || len(q.channels) != 0 || len(q.runnable) != 0 {
		t.Errorf("left behind: %d pending, %d entries, %d channels, %d runnable", q.pending, len(q.entries), len(q.channels), len(q.runnable))
	}
}

// After a burst, a channel is throttled, however its messages come.
func TestStormIsSpreadOverTime(t *testing.T) {
	t.Parallel()
	const tick, ticks = 20 * time.Millisecond, 500
	for _, test := range []struct{ gust, pause, want int }{
		{gust: 1, pause: 50, want: 10}, // one a second: no throttling
		// ten at once, then a pause of two seconds
		{gust: 10, pause: 100, want: 50},
		{gust: 1, pause: 1, want: channelBurst + int(ticks*tick/channelInterval)},      // fifty a second
		{gust: 20, pause: 50, want: channelBurst + int(ticks*tick/channelInterval)},    // in gusts
		{gust: 50, pause: ticks, want: 50},                                             // all at once
		{gust: 10000, pause: 50, want: channelBurst + int(ticks*tick/channelInterval)}, // more than the queue holds
	} {
		t.Run(fmt.Sprintf("%d every %d ticks", test.gust, test.pause), func(t *testing.T) {
			t.Parallel()
			q, clock := setupQueue()
			pushed, taken := 0, 0
			for n := range ticks {
				for range test.gust {
					if n%test.pause == 0 {
						q.push(thread(fmt.Sprint("A", pushed)), normal)
						pushed++
					}
				}
				for name := q.tryTake(t); name != ""; name = q.tryTake(t) {
					q.done(thread(name), false)
					taken++
				}
				clock.advance(tick)
			}
			if taken < test.want-1 || taken > test.want+1 {
				t.Errorf("%d relays in %v, want %d", taken, ticks*tick, test.want)
			}
		})
	}
}

// Under concurrent use, everything pushed is taken afterwards, nothing is in flight twice, and
// no channel exceeds its concurrency.
func TestQueueUnderConcurrentUse(t *testing.T) {
	t.Parallel()
	const faster = 1000 // than the real clock
	began := time.Now()
	q := newQueue(func() time.Time { return began.Add(faster * time.Since(began)) })
	q.afterFunc = func(d time.Duration, f func()) { time.AfterFunc(d/faster, f) }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var (
		mu       sync.Mutex
		relaying = map[string]int{} // by channel
		held     = map[chat.Conversation]bool{}
		owed     = map[chat.Conversation]bool{} // pushed, and not taken since
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
				if relaying[c.Channel]++; relaying[c.Channel] > channelConcurrency || held[c] {
					t.Errorf("%s: %d of its channel in flight, held already: %v", nameOf(c), relaying[c.Channel], held[c])
				}
				held[c] = true
				delete(owed, c)
				mu.Unlock()
				if rand.IntN(4) == 0 {
					time.Sleep(time.Duration(rand.IntN(100)) * time.Microsecond)
				}
				mu.Lock()
				relaying[c.Channel]--
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
				q.push(c, []priority{normal, normal, normal, normal, awaited}[rand.IntN(5)])
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
	// What was pushed between a take and the bookkeeping above is pending and no longer owed:
	// the workers go on until nothing is left.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		q.mu.Lock()
		channels, entries := len(q.channels), len(q.entries)
		q.mu.Unlock()
		if channels+entries == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %d channels, %d conversations", channels, entries)
		}
	}
	cancel()
	workers.Wait()
}

// Of the conversations that a mention concerns, the one with the answer goes first.
func TestNotifyPutsTheAnswerFirst(t *testing.T) {
	thread, channel := chat.Conversation{Team: "T1", Channel: "C1", Thread: "1.000001"}, chat.Conversation{Team: "T1", Channel: "C1"}
	r := &Relay{queue: newQueue(time.Now)}
	var later []func()
	r.queue.afterFunc = func(_ time.Duration, do func()) { later = append(later, do) }
	pending := func() (n int) { return r.queue.countPending([]chat.Conversation{thread, channel}) }
	r.Notify(store.Target{Conversation: channel}, store.Target{Conversation: thread, Awaited: true})
	if got, ok := r.queue.take(t.Context()); !ok || got != thread || pending() != 0 {
		t.Fatalf("%v is taken first, and %d are pending", got, pending())
	}
	for _, do := range later {
		do()
	}
	if got, ok := r.queue.take(t.Context()); !ok || got != channel {
		t.Errorf("%v is taken next", got)
	}
	r = &Relay{queue: newQueue(time.Now)}
	if r.Notify(store.Target{Conversation: channel}, store.Target{Conversation: thread}); pending() != 2 {
		t.Errorf("%d are pending, want both: nobody waits for an answer", pending())
	}
}
