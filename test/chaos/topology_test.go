package chaos

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/sandbox"
)

// TestTopology runs what docker-compose.yml and deploy/kubernetes describe as processes:
// starters behind a load balancer, workers, a Temporal server on Postgres, and Postgres
// for the bot. While people talk, a starter and a worker are replaced as a rollout does
// it, with SIGTERM, and one of each is killed; then Temporal and Postgres are away for a
// while. Every question is answered once, and /readyz of all programs tells the truth.
func TestTopology(t *testing.T) {
	if *flagTemporal != "postgres" {
		t.Skip("needs a Temporal server on Postgres: make topology runs it")
	}
	s := scale{
		seed: max(*flagSeed, 1), messages: 120, rate: 6, channels: 8, direct: 3, people: 6, starters: 2, workers: 3,
	}
	plan := draw(s)
	plan.pranks = nil
	for i := range plan.acts {
		plan.acts[i].upset = delivered
	}
	w := build(t, settings{
		starters: s.starters, workers: s.workers, channels: s.channels, direct: s.direct, people: s.people,
		minWait: 2, jitter: 0.5, maxWait: 10, temporal: *flagTemporal, seed: s.seed,
		retryAfter: []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second},
	})
	w.allSay(http.StatusOK, "ready")

	f := w.figures(plan)
	f.live(func(ctx context.Context, began time.Time) {
		for i, replace := range []func(){
			func() { w.replace(w.starters[0], w.doors[0], (*process).stopped) },
			func() { w.replace(w.workers[0], w.hatches[0], (*process).stopped) },
			func() { w.replace(w.starters[1], w.doors[1], (*process).killed) },
			func() { w.replace(w.workers[1], w.hatches[1], (*process).killed) },
		} {
			sleepUntil(ctx, began.Add(time.Duration(2+4*i)*time.Second))
			replace()
		}
	})
	w.missing(f, "temporal", w.temporal.Kill, w.temporal.Restart)
	w.missing(f, "database", w.postgres.Kill, w.postgres.Restart)
	f.reckon()
	if n := len(f.record.posts); n < s.messages/4 {
		t.Errorf("%d posts: too few to prove anything", n)
	}
}

// stopped ends a process as Kubernetes does, in time and in order.
func (p *process) stopped() error { return p.Stop() }

// killed ends it as the loss of its node does.
func (p *process) killed() error {
	p.Kill()
	return nil
}

// replace ends a program and starts it again, and returns when it is ready.
func (w *world) replace(p *process, address string, end func(*process) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := end(p); err != nil {
		w.t.Errorf("%s ended with %v", p.name, err)
	}
	if status, said := w.says(address); status != 0 {
		w.t.Errorf("%s, which has ended, answers %d: %s", p.name, status, said)
	}
	w.story.Printf("%s has ended", p.name)
	p.Start()
	if !w.waits(time.Minute, func() bool {
		status, _ := w.says(address)
		return status == http.StatusOK
	}) {
		w.t.Errorf("%s is not ready again within a minute", p.name)
	}
	w.story.Printf("%s is ready again", p.name)
}

// missing takes something away until all programs say that they lack it, has somebody ask
// meanwhile, and gives it back. The programs stay alive; an event that the door could
// write down is acknowledged at once.
func (w *world) missing(f *figures, what string, end, restart func()) {
	w.t.Helper()
	end()
	w.allSay(http.StatusServiceUnavailable, what)
	for _, address := range slices.Concat(w.doors, w.hatches) {
		if resp, err := http.Get("http://" + address + "/livez"); err != nil {
			w.t.Errorf("without %s, /livez of %s: %v", what, address, err)
		} else if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
			w.t.Errorf("without %s, /livez of %s answers %d", what, address, resp.StatusCode)
		}
	}
	before := len(w.workspace.Deliveries())
	f.people.do(act{verb: say, n: len(f.people.order) + 1, kind: mention, channel: 0})
	if what == "temporal" {
		w.await("the door to take in what is said", 10*time.Second, func() bool {
			return slices.ContainsFunc(w.workspace.Deliveries()[before:], func(d sandbox.Delivery) bool { return d.Status == http.StatusOK })
		})
	}
	restart()
	w.allSay(http.StatusOK, "ready")
}

// allSay waits until /readyz of every program answers with a status and says something.
func (w *world) allSay(want int, what string) {
	w.t.Helper()
	for _, address := range slices.Concat(w.doors, w.hatches) {
		last := ""
		if !w.waits(time.Minute, func() bool {
			status, said := w.says(address)
			last = fmt.Sprintf("%d: %s", status, said)
			return status == want && strings.Contains(said, what)
		}) {
			w.t.Fatalf("/readyz of %s answers %s; want %d, %q", address, last, want, what)
		}
	}
}
