package bench

import (
	"fmt"
	"sync"
	"time"

	"myao/test/testserver"
)

// measureMention mentions the bot five times a second, each time in another channel, because
// Slack accepts one message a second for each. Next to it runs a bare workflow with one signal
// and the same two activities: one for the model, one for the post.
func measureMention(b *bench) []row {
	const rate, block = 5, 20
	blocks := b.scaled(5, 1) // a 99th percentile needs a hundred values
	w := build(b, settings{name: "mention", channels: 60, events: true, response: "min_wait_seconds: 3600\nmax_wait_seconds: 7200"})
	defer w.close()
	floor := startBare(b, "mention")
	defer floor.program.Kill()
	w.mentions(rate, block) // warm
	floor.postTimes("warm", rate, block)

	var medians, tails, floorMedians, floorTails []float64
	asked := block
	for round := range b.rounds {
		var bare, ours []time.Duration
		b.awaitCalm()
		for i := range blocks { // alternately, so that other load affects both
			bare = append(bare, floor.postTimes(fmt.Sprintf("%d-%d", round, i), rate, block)...)
			ours = append(ours, w.mentions(rate, block)...)
			asked += block
		}
		medians, tails = append(medians, milliseconds(quantile(ours, 0.5))), append(tails, milliseconds(quantile(ours, 0.99)))
		floorMedians, floorTails = append(floorMedians, milliseconds(quantile(bare, 0.5))), append(floorTails, milliseconds(quantile(bare, 0.99)))
		w.logStages()
		b.logf("mention: median %.1f ms, p99 %.1f ms; bare %.1f and %.1f ms", medians[round], tails[round], floorMedians[round], floorTails[round])
	}
	posts := len(w.Workspace.Posts())
	note := fmt.Sprintf("lost %d, doubled %d of %d", max(0, asked-posts), max(0, posts-asked), asked)
	if posts != asked {
		b.Errorf("mention: %s", note)
	}
	return []row{
		newRatioRow("mention to chat.postMessage, median", "ms", atMost(1.45, "×"), medians, floorMedians).withNote("%s", note),
		newRatioRow("mention to chat.postMessage, p99", "ms", atMost(1.45, "×"), tails, floorTails),
	}
}

// mentions mentions the bot n times and returns how long each answer took from the intended time.
func (w *system) mentions(rate float64, n int) []time.Duration {
	w.b.Helper()
	before := len(w.Workspace.Posts())
	var mu sync.Mutex
	asked := map[string]time.Time{} // by ts
	openLoop(w.b.Context(), rate, n, func(i int, intended time.Time) {
		ts := w.Workspace.Say(w.channels[i%len(w.channels)], w.person, fmt.Sprintf("<@%s> what about %d?", w.Workspace.Bot().UserID, i))
		mu.Lock()
		defer mu.Unlock()
		asked[ts] = intended
	})
	w.b.await("the answers", time.Minute, func() bool { return len(w.Workspace.Posts()) >= before+n })
	var took []time.Duration
	for _, p := range w.Workspace.Posts()[before:] {
		if at, ok := asked[p.ThreadTS]; ok {
			took = append(took, p.At.Sub(at))
		}
	}
	return took
}

// postTimes sends n bare signals, each to its own workflow with two activities, and returns how
// long each took until the last activity.
func (r *bare) postTimes(name string, rate float64, n int) []time.Duration {
	r.b.Helper()
	before, err := r.times()
	testserver.Must(r.b, err)
	var mu sync.Mutex
	sent := map[int]time.Time{}
	openLoop(r.b.Context(), rate, n, func(i int, intended time.Time) {
		id := len(before) + i
		if err := r.send(fmt.Sprintf("reach-%s-%d", name, i), bareMessage{ID: id, TS: "1760000000.000001", Kind: "addressed", Activities: 2}); err != nil {
			r.b.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		sent[id] = intended
	})
	var times map[int]time.Time
	r.b.await("the bare activities", time.Minute, func() bool {
		times, err = r.times()
		return err == nil && len(times) >= len(before)+n
	})
	var took []time.Duration
	for id, at := range sent {
		took = append(took, times[id].Sub(at))
	}
	return took
}

// logStages logs where the time of a mention goes: the median of each stage, from the database's
// rows of the newest answers.
func (w *system) logStages() {
	w.b.Helper()
	rows, err := w.db.QueryContext(w.b.Context(), `
		SELECT m.sent_us, m.stored_us, MIN(c.relayed_us), MIN(k.called_us - k.latency_us), MIN(k.called_us), MIN(o.read_us), MIN(d.settled_us)
		FROM messages m JOIN changes c ON c.ts = m.ts AND c.workflow_id LIKE 'thread/%' JOIN outbox o ON o.trigger_ts = m.ts
		JOIN decisions d ON d.key = o.decision JOIN model_calls k ON k.decision = d.key
		WHERE m.stored_us > (SELECT MAX(stored_us) FROM messages) - 20000000 AND d.settled_us > 0 GROUP BY m.sent_us, m.stored_us`)
	testserver.Must(w.b, err)
	defer func() { _ = rows.Close() }()
	var stages [6][]float64
	for rows.Next() {
		var at [7]int64
		testserver.Must(w.b, rows.Scan(&at[0], &at[1], &at[2], &at[3], &at[4], &at[5], &at[6]))
		for i := range stages {
			stages[i] = append(stages[i], float64(at[i+1]-at[i])/1000)
		}
	}
	w.b.logf("mention: said to stored %.1f, to signalled %.1f, to the model asked %.1f, to its answer %.1f, to the outbox %.1f, to the end of the post %.1f ms",
		median(stages[0]), median(stages[1]), median(stages[2]), median(stages[3]), median(stages[4]), median(stages[5]))
}
