package bench

import (
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/converter"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/test/testserver"
)

// place is a conversation: a thread, or the top level of a channel if thread is empty.
type place struct{ channel, thread string }

// id is the workflow id.
func (p place) id() string {
	return chat.Conversation{Team: team, Channel: p.channel, Thread: p.thread}.ID()
}

// places returns n conversations: the top level and nine threads of each channel.
func (w *system) places(n int) []place {
	var all []place
	for i := range n {
		p := place{channel: w.channels[i/10%len(w.channels)]}
		if i%10 > 0 {
			p.thread = fmt.Sprintf("%d.%06d", time.Now().Unix()-3600, i)
		}
		all = append(all, p)
	}
	return all
}

// rawSignals returns how many messages a second 32 goroutines send by raw
// SignalWithStartWorkflow while a worker handles them.
func (r *bare) rawSignals(conversations int, lasts time.Duration) float64 {
	r.b.Helper()
	done, failed, took := closedLoop(r.b.Context(), 32, lasts, func(i int) error {
		return r.send(fmt.Sprintf("raw-%d", i%conversations), bareMessage{ID: i, TS: "1760000000.000001", Kind: "said"})
	})
	if done == 0 || r.b.full && failed > done/20 { // a few may fail when the machine stalls
		r.b.Errorf("%d raw signals failed, and %d did not", failed, done)
	}
	return float64(done) / took.Seconds()
}

// measureDoor sends events as fast as the door accepts them, and then at a fixed rate.
func measureDoor(b *bench) []row {
	senders, conversations := b.scaled(128, 16), b.scaled(500, 50)
	burst, raw := b.scaledTime(30*time.Second, time.Second), b.scaledTime(8*time.Second, time.Second)
	w := build(b, settings{name: "door", channels: max(1, conversations/10), response: "min_wait_seconds: 3600\nmax_wait_seconds: 7200\nfollow_up_wait_seconds: 3600"})
	defer w.close()
	floor := startBare(b, "door")
	defer floor.program.Kill()
	places, writer := w.places(conversations), w.writer()
	floor.rawSignals(conversations, b.scaledTime(3*time.Second, time.Second)) // warm
	_, acknowledged := w.burst(writer, places, senders, b.scaledTime(3*time.Second, time.Second))
	w.awaitDrained()
	w.analyze()

	var rates, floors, drains, p99s, p50s []float64
	for round := range b.rounds {
		b.awaitCalm()
		floors = append(floors, floor.rawSignals(conversations, raw))
		b.awaitCalm()
		rate, n := w.burst(writer, places, senders, burst)
		acknowledged += n
		rates = append(rates, rate)
		began, backlog := time.Now(), w.backlog()
		w.awaitDrained()
		drains = append(drains, float64(backlog)/time.Since(began).Seconds())
		b.awaitCalm()
		took, n := w.paced(writer, places, 2*floors[round], b.scaledTime(10*time.Second, time.Second))
		acknowledged += n
		p50s, p99s = append(p50s, milliseconds(quantile(took, 0.5))), append(p99s, milliseconds(quantile(took, 0.99)))
		b.logf("door: raw %.0f/s, acknowledged %.0f/s, backlog %d drained at %.0f/s, p50 %.1f ms, p99 %.1f ms",
			floors[round], rate, backlog, drains[round], p50s[round], p99s[round])
		w.awaitDrained()
	}
	b.servers.temporal.Kill()
	took, n := w.paced(writer, places, 2*median(floors), b.scaledTime(10*time.Second, time.Second))
	acknowledged += n
	b.servers.temporal.Restart()
	w.awaitDrained()
	lost, doubled := w.lostAndDoubled(places, acknowledged)
	note := fmt.Sprintf("lost %d, doubled %d of %d", lost, doubled, acknowledged)
	if lost > 0 || b.full && doubled > 0 {
		// where the machine stalls, a signal that timed out is sent again; the run knows it
		b.Errorf("door: %s", note)
	}
	return []row{
		newRatioRow("door: acknowledged in a burst", "messages/s", atLeast(10, "×"), rates, floors).withNote("%s; %d connections, %d conversations", note, senders, conversations),
		newRow("door: p99 at twice the raw rate", "ms", atMost(50, "ms"), p99s...).withNote("median %s ms", number(median(p50s))),
		newRow("door: slowest without Temporal", "ms", atMost(3000, "ms"), milliseconds(quantile(took, 1))),
		newRatioRow("drain: backlog to signalled", "messages/s", atLeast(2, "×"), drains, floors),
	}
}

// burst has senders send as fast as they can.
func (w *system) burst(writer *writer, places []place, senders int, lasts time.Duration) (rate float64, n int) {
	w.b.Helper()
	n, failed, took := closedLoop(w.b.Context(), senders, lasts, func(i int) error {
		p := places[i%len(places)]
		return writer.say(w.b.Context(), p.channel, p.thread, writer.ts(), fmt.Sprintf("message %d of those that everybody writes at once", i))
	})
	if failed > 0 {
		w.b.Errorf("%d messages were not acknowledged", failed)
	}
	return float64(n) / took.Seconds(), n
}

// paced sends at a rate and returns how long each acknowledgement took.
func (w *system) paced(writer *writer, places []place, rate float64, lasts time.Duration) (took []time.Duration, n int) {
	w.b.Helper()
	var mu sync.Mutex
	n = int(rate * lasts.Seconds())
	openLoop(w.b.Context(), rate, n, func(i int, intended time.Time) {
		p := places[i%len(places)]
		err := writer.say(w.b.Context(), p.channel, p.thread, writer.ts(), fmt.Sprintf("message %d at its time", i))
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			w.b.Errorf("message %d: %v", i, err)
		}
		took = append(took, time.Since(intended))
	})
	return took, n
}

// analyze updates the planner's statistics, as autovacuum does within a minute.
func (w *system) analyze() {
	w.b.Helper()
	testserver.Must(w.b, testserver.ErrOf(w.db.ExecContext(w.b.Context(), "ANALYZE")))
}

// backlog counts the changes that wait to be relayed.
func (w *system) backlog() int {
	return w.count("SELECT COUNT(*) FROM changes WHERE relayed_us IS NULL")
}

// awaitDrained waits until all changes are relayed.
func (w *system) awaitDrained() {
	w.b.Helper()
	w.b.await("the backlog to be gone", 30*time.Minute, func() bool {
		return w.count("SELECT COUNT(*) FROM (SELECT FROM changes WHERE relayed_us IS NULL LIMIT 1) w") == 0
	})
}

// lostAndDoubled compares the number of acknowledged messages with the stored ones, and the
// stored ones with the signals in some of the workflows' histories.
func (w *system) lostAndDoubled(places []place, acknowledged int) (lost, doubled int) {
	w.b.Helper()
	stored, relayed := w.count("SELECT COUNT(*) FROM messages"), w.count("SELECT COUNT(*) FROM changes WHERE relayed_us IS NOT NULL")
	if acknowledged > stored || stored > relayed {
		w.b.Errorf("%d acknowledged, %d stored, %d relayed", acknowledged, stored, relayed)
	}
	lost += max(0, acknowledged-stored) + max(0, stored-relayed)
	for i := 0; i < len(places); i += max(1, len(places)/20) {
		id := places[i].id()
		expected := w.count("SELECT COUNT(*) FROM changes WHERE workflow_id = $1", id)
		if expected == 0 { // there were fewer messages than places
			continue
		}
		// A signal during a workflow task is in the history only after the task.
		var told map[string]int
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
			if told = w.signalled(places[i]); len(told) >= expected || time.Now().After(deadline) {
				break
			}
		}
		if len(told) < expected {
			w.b.Errorf("%s has signals for %d messages of %d", id, len(told), expected)
			lost += expected - len(told)
		}
		for _, n := range told {
			doubled += n - 1
		}
	}
	return lost, doubled
}

// signalled counts the signals to a conversation for each message, by ts.
func (w *system) signalled(p place) map[string]int {
	w.b.Helper()
	told := map[string]int{}
	for _, e := range w.history(p) {
		if a := e.GetWorkflowExecutionSignaledEventAttributes(); a != nil {
			var s conversation.Signal
			testserver.Must(w.b, converter.GetDefaultDataConverter().FromPayloads(a.Input, &s))
			for _, c := range s.Changes {
				told[c.TS]++
			}
		}
	}
	return told
}
