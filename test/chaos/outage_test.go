package chaos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestTemporalDown has Temporal be down for long while people talk. The door goes on
// acknowledging, in time; the starters say that they are not ready, and why; and when
// it is back, what waited is relayed in order and every mention answered once.
func TestTemporalDown(t *testing.T) {
	long(t)
	const before, after = 5 * time.Second, 15 * time.Second
	rate := 4.0
	s := scale{
		seed: max(*flagSeed, 1), messages: int(rate * (before + *flagOutage + after).Seconds()), rate: rate,
		channels: 30, direct: 8, people: 12, starters: 2, workers: 3,
	}
	plan := draw(s)
	plan.pranks = nil
	for i := range plan.acts {
		plan.acts[i].upset = delivered
	}
	t.Logf("seed %d: Temporal is down for %s, %d messages", s.seed, *flagOutage, s.messages)
	w := build(t, settings{
		starters: s.starters, workers: s.workers, channels: s.channels, direct: s.direct, people: s.people,
		minWait: 2, jitter: 0.5, maxWait: 10, temporal: *flagTemporal, retryAfter: []time.Duration{0, time.Second, 2 * time.Second},
	})
	f := w.figures(plan)
	var down, back time.Time
	f.live(func(ctx context.Context, began time.Time) {
		sleepUntil(ctx, began.Add(before))
		down = time.Now()
		w.temporal.Kill()
		for sleepUntil(ctx, time.Now().Add(5*time.Second)) && time.Since(down) < *flagOutage {
			for _, door := range w.doors {
				if status, said := w.says(door); status != http.StatusServiceUnavailable || !strings.Contains(said, "temporal") {
					t.Errorf("%s after Temporal went, /readyz of %s answers %d: %s", time.Since(down).Round(time.Second), door, status, said)
				}
			}
			f.notes["most changes that waited"] = w.unrelayed()
		}
		w.temporal.Restart()
		back = time.Now()
		for w.unrelayed() > 20 && sleepUntil(ctx, time.Now().Add(100*time.Millisecond)) { // people still talk
		}
		f.notes["backlog relayed in"] = time.Since(back).Round(100 * time.Millisecond)
	})
	f.reckon()
	w.acknowledged(3 * time.Second)
	w.inOrder(back)
}

// says is what a starter says of its readiness.
func (w *world) says(door string) (int, string) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+door+"/readyz", nil)
	if err != nil {
		return 0, err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(resp.Body)
	return resp.StatusCode, fmt.Sprintf("%s %v", said, err)
}

// unrelayed is how many changes wait in the database.
func (w *world) unrelayed() (n int) {
	if err := w.db.QueryRowContext(w.t.Context(), "SELECT count(*) FROM changes WHERE relayed_us IS NULL").Scan(&n); err != nil {
		w.t.Error(err)
	}
	return n
}

// acknowledged fails the test unless every event was acknowledged at its first try, in time.
func (w *world) acknowledged(within time.Duration) {
	w.t.Helper()
	for _, d := range w.workspace.Deliveries() {
		if d.Status != http.StatusOK || d.Took > within {
			w.t.Errorf("%s %s/%s was answered %d after %s: %s", d.At.Format("15:04:05"), d.Type, d.Subtype, d.Status, d.Took, d.Err)
		}
	}
}

// inOrder fails the test unless, in every conversation, what had waited when Temporal
// came back was relayed in order of ts.
func (w *world) inOrder(back time.Time) {
	w.t.Helper()
	rows, err := w.db.QueryContext(w.t.Context(), `SELECT workflow_id, ts FROM (
			SELECT workflow_id, ts, relayed_us, lag(relayed_us) OVER (PARTITION BY workflow_id ORDER BY sent_us, id) AS before
			FROM changes WHERE stored_us < $1 AND relayed_us > $1
		) waited WHERE relayed_us < before`, back.UnixMicro())
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, ts string
		if err := rows.Scan(&id, &ts); err != nil {
			w.t.Fatal(err)
		}
		w.t.Errorf("%s of %s was relayed before what was said before it", ts, id)
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
}
