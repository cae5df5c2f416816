package chaos

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"myao/test/testserver"
)

// TestTemporalDown takes Temporal down for long while people write. The door acknowledges every
// event in time, and the starters say that they are not ready, and why. When Temporal is back,
// the backlog is relayed in order and every mention is answered once.
func TestTemporalDown(t *testing.T) {
	needLong(t)
	const before, after = 5 * time.Second, 15 * time.Second
	rate := 4.0
	s := scale{
		seed: max(*flagSeed, 1), messages: int(rate * (before + *flagOutage + after).Seconds()), rate: rate,
		channels: 30, direct: 8, people: 12, starters: 2, workers: 3,
	}
	plan := draw(s)
	plan.failures = nil
	for i := range plan.acts {
		plan.acts[i].disturbance = delivered
	}
	t.Logf("seed %d: Temporal is down for %s, %d messages", s.seed, *flagOutage, s.messages)
	w := build(t, settings{
		starters: s.starters, workers: s.workers, channels: s.channels, direct: s.direct, people: s.people,
		minWait: 2, jitter: 0.5, maxWait: 10, temporal: *flagTemporal, retryAfter: []time.Duration{0, time.Second, 2 * time.Second},
	})
	f := w.figures(plan)
	var down, back time.Time
	f.runPlan(func(ctx context.Context, began time.Time) {
		sleepUntil(ctx, began.Add(before))
		down = time.Now()
		w.temporal.Kill()
		for sleepUntil(ctx, time.Now().Add(5*time.Second)) && time.Since(down) < *flagOutage {
			for _, p := range w.starters {
				if status, said := p.readyz(); status != http.StatusServiceUnavailable || !strings.Contains(said, "temporal") {
					t.Errorf("%s after Temporal went, /readyz of %s answers %d: %s", time.Since(down).Round(time.Second), p.name, status, said)
				}
			}
			f.notes["most changes that waited"] = w.unrelayedChanges()
		}
		w.temporal.Restart()
		back = time.Now()
		for w.unrelayedChanges() > 20 && sleepUntil(ctx, time.Now().Add(100*time.Millisecond)) { // people still write
		}
		f.notes["backlog relayed in"] = time.Since(back).Round(100 * time.Millisecond)
	})
	f.finish()
	w.checkAcknowledged(3 * time.Second)
	w.checkRelayOrder(back)
}

// unrelayedChanges counts the changes that wait to be relayed.
func (w *system) unrelayedChanges() (n int) {
	if err := w.db.QueryRowContext(w.t.Context(), "SELECT count(*) FROM changes WHERE relayed_us IS NULL").Scan(&n); err != nil {
		w.t.Error(err)
	}
	return n
}

// checkAcknowledged fails the test unless every event was acknowledged in time, at the first
// attempt.
func (w *system) checkAcknowledged(within time.Duration) {
	w.t.Helper()
	for _, d := range w.Workspace.Deliveries() {
		if d.Status != http.StatusOK || d.Took > within {
			w.t.Errorf("%s %s/%s was answered %d after %s: %s", d.At.Format("15:04:05"), d.Type, d.Subtype, d.Status, d.Took, d.Err)
		}
	}
}

// checkRelayOrder fails the test unless the changes that waited when Temporal came back were
// relayed in order of ts in each conversation.
func (w *system) checkRelayOrder(back time.Time) {
	w.t.Helper()
	rows, err := w.db.QueryContext(w.t.Context(), `SELECT workflow_id, ts FROM (
			SELECT workflow_id, ts, relayed_us, lag(relayed_us) OVER (PARTITION BY workflow_id ORDER BY sent_us, id) AS before
			FROM changes WHERE stored_us < $1 AND relayed_us > $1
		) waited WHERE relayed_us < before`, back.UnixMicro())
	testserver.Must(w.t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, ts string
		testserver.Must(w.t, rows.Scan(&id, &ts))
		w.t.Errorf("%s of %s was relayed before an earlier message", ts, id)
	}
	testserver.Must(w.t, rows.Err())
}
