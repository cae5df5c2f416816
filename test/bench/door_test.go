package bench

import (
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/converter"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// place is where something is said.
type place struct{ channel, thread string }

// id is that of the conversation's workflow.
func (p place) id() string {
	return chat.Conversation{Team: team, Channel: p.channel, Thread: p.thread}.ID()
}

// places is n conversations: of each channel its top level and nine threads.
func (w *world) places(n int) []place {
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

// rawSignals is how many messages a second 32 goroutines get to workflows by raw
// SignalWithStartWorkflow, while a worker takes them.
func (r *bare) rawSignals(conversations int, lasts time.Duration) float64 {
	r.b.Helper()
	done, failed, took := closedLoop(r.b.Context(), 32, lasts, func(i int) error {
		return r.send(fmt.Sprintf("raw-%d", i%conversations), bareMessage{ID: i, TS: "1760000000.000001", Kind: "said"})
	})
	if failed > done/20 { // one may, where the machine stands still; it does not count
		r.b.Errorf("%d raw signals failed, and %d did not", failed, done)
	}
	return float64(done) / took.Seconds()
}

// measureDoor has people write as fast as the door takes it, and then at a pace.
func measureDoor(b *bench) []row {
	hands, conversations := b.of(128, 16), b.of(500, 50)
	burst, raw := b.lasting(30*time.Second, time.Second), b.lasting(8*time.Second, time.Second)
	w := build(b, settings{name: "door", channels: max(1, conversations/10), response: "min_wait_seconds: 3600\nmax_wait_seconds: 7200\nfollow_up_wait_seconds: 3600"})
	defer w.close()
	floor := startBare(b, "door")
	defer floor.program.Kill()
	places, writer := w.places(conversations), w.writer()
	floor.rawSignals(conversations, b.lasting(3*time.Second, time.Second)) // warm
	_, acknowledged := w.burst(writer, places, hands, b.lasting(3*time.Second, time.Second))
	w.drained()
	w.analyze()

	var rates, floors, drains, p99s, p50s []float64
	for round := range b.rounds {
		b.quiet()
		floors = append(floors, floor.rawSignals(conversations, raw))
		b.quiet()
		rate, n := w.burst(writer, places, hands, burst)
		acknowledged += n
		rates = append(rates, rate)
		began, backlog := time.Now(), w.backlog()
		w.drained()
		drains = append(drains, float64(backlog)/time.Since(began).Seconds())
		b.quiet()
		took, n := w.paced(writer, places, 2*floors[round], b.lasting(10*time.Second, time.Second))
		acknowledged += n
		p50s, p99s = append(p50s, milliseconds(quantile(took, 0.5))), append(p99s, milliseconds(quantile(took, 0.99)))
		b.tell("door: raw %.0f/s, acknowledged %.0f/s, backlog %d drained at %.0f/s, p50 %.1f ms, p99 %.1f ms",
			floors[round], rate, backlog, drains[round], p50s[round], p99s[round])
		w.drained()
	}
	b.servers.temporal.Kill()
	took, n := w.paced(writer, places, 2*median(floors), b.lasting(10*time.Second, time.Second))
	acknowledged += n
	b.servers.temporal.Restart()
	w.drained()
	lost, doubled := w.account(places, acknowledged)
	note := fmt.Sprintf("lost %d, doubled %d of %d", lost, doubled, acknowledged)
	if lost+doubled > 0 {
		b.Errorf("door: %s", note)
	}
	return []row{
		against("door: acknowledged in a burst", "messages/s", atLeast(10, "×"), rates, floors).noting("%s; %d connections, %d conversations", note, hands, conversations),
		alone("door: p99 at twice the raw rate", "ms", atMost(50, "ms"), p99s...).noting("median %s ms", number(median(p50s))),
		alone("door: slowest without Temporal", "ms", atMost(3000, "ms"), milliseconds(quantile(took, 1))),
		against("drain: backlog to signalled", "messages/s", atLeast(2, "×"), drains, floors),
	}
}

// burst has hands write as fast as they can.
func (w *world) burst(writer *writer, places []place, hands int, lasts time.Duration) (rate float64, n int) {
	w.b.Helper()
	n, failed, took := closedLoop(w.b.Context(), hands, lasts, func(i int) error {
		p := places[i%len(places)]
		return writer.say(w.b.Context(), p.channel, p.thread, writer.ts(), fmt.Sprintf("message %d of those that everybody writes at once", i))
	})
	if failed > 0 {
		w.b.Errorf("%d messages were not acknowledged", failed)
	}
	return float64(n) / took.Seconds(), n
}

// paced has people write at a rate, and returns how long each acknowledgement took.
func (w *world) paced(writer *writer, places []place, rate float64, lasts time.Duration) (took []time.Duration, n int) {
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

// analyze does what the database does by itself a minute after its tables have been
// filled: until then it plans without knowing them.
func (w *world) analyze() {
	w.b.Helper()
	if _, err := w.db.ExecContext(w.b.Context(), "ANALYZE"); err != nil {
		w.b.Fatal(err)
	}
}

// backlog is how many changes wait to be relayed.
func (w *world) backlog() int {
	return w.count("SELECT COUNT(*) FROM changes WHERE relayed_us IS NULL")
}

// drained waits until nothing waits to be relayed.
func (w *world) drained() {
	w.b.Helper()
	w.b.await("the backlog to be gone", 30*time.Minute, func() bool {
		return w.count("SELECT COUNT(*) FROM (SELECT FROM changes WHERE relayed_us IS NULL LIMIT 1) w") == 0
	})
}

// account compares what was acknowledged with what is stored, and what is stored with
// what the workflows were told, for some of them to the last message.
func (w *world) account(places []place, acknowledged int) (lost, doubled int) {
	w.b.Helper()
	stored, relayed := w.count("SELECT COUNT(*) FROM messages"), w.count("SELECT COUNT(*) FROM changes WHERE relayed_us IS NOT NULL")
	if acknowledged > stored || stored > relayed {
		w.b.Errorf("%d acknowledged, %d stored, %d relayed", acknowledged, stored, relayed)
	}
	lost += max(0, acknowledged-stored) + max(0, stored-relayed)
	for i := 0; i < len(places); i += max(1, len(places)/20) {
		id := places[i].id()
		expected := w.count("SELECT COUNT(*) FROM changes WHERE workflow_id = $1", id)
		// What comes while a workflow task is under way stands in the history when that has ended.
		var told map[string]int
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
			if told = w.told(places[i]); len(told) >= expected || time.Now().After(deadline) {
				break
			}
		}
		if len(told) < expected {
			w.b.Errorf("%s was told of %d messages, and %d were said", id, len(told), expected)
			lost += expected - len(told)
		}
		for _, n := range told {
			doubled += n - 1
		}
	}
	return lost, doubled
}

// told is how often a conversation was told of each message, by ts.
func (w *world) told(p place) map[string]int {
	w.b.Helper()
	told := map[string]int{}
	for _, e := range w.history(p) {
		if a := e.GetWorkflowExecutionSignaledEventAttributes(); a != nil {
			var s conversation.Signal
			if err := converter.GetDefaultDataConverter().FromPayloads(a.Input, &s); err != nil {
				w.b.Fatal(err)
			}
			for _, c := range s.Changes {
				told[c.TS]++
			}
		}
	}
	return told
}
