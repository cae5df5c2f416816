package chaos

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/sandbox/workspace"
	"myao/test/world"
)

// TestTopology runs as processes what docker-compose.yml and deploy/kubernetes describe: starters
// behind a load balancer, workers, a Temporal server on Postgres, and Postgres for the bot.
// While people write, a starter and a worker are replaced with SIGTERM, as in a rollout, and
// one of each is killed. Then Temporal and Postgres are down for a while. Every question is
// answered once, and each /readyz is correct.
func TestTopology(t *testing.T) {
	if *flagTemporal != "postgres" {
		t.Skip("needs a Temporal server on Postgres: make topology runs it")
	}
	s := scale{
		seed: max(*flagSeed, 1), messages: 120, rate: 6, channels: 8, direct: 3, people: 6, starters: 2, workers: 3,
	}
	plan := draw(s)
	plan.failures = nil
	for i := range plan.acts {
		plan.acts[i].disturbance = delivered
	}
	w := build(t, settings{
		starters: s.starters, workers: s.workers, channels: s.channels, direct: s.direct, people: s.people,
		minWait: 2, jitter: 0.5, maxWait: 10, temporal: *flagTemporal, seed: s.seed,
		retryAfter: []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second},
	})
	w.awaitReadyz(http.StatusOK, "ready")

	f := w.figures(plan)
	f.runPlan(func(ctx context.Context, began time.Time) {
		for i, replace := range []func(){
			func() { w.replace(w.starters[0], (*process).Stop) },
			func() { w.replace(w.workers[0], (*process).Stop) },
			func() { w.replace(w.starters[1], (*process).Kill) },
			func() { w.replace(w.workers[1], (*process).Kill) },
		} {
			sleepUntil(ctx, began.Add(time.Duration(2+4*i)*time.Second))
			replace()
		}
	})
	w.checkOutage(f, "temporal", w.temporal.Kill, w.temporal.Restart)
	w.checkOutage(f, "database", w.postgres.Kill, w.postgres.Restart)
	f.finish()
	if n := len(f.record.posts); n < s.messages/4 {
		t.Errorf("%d posts: too few to prove anything", n)
	}
}

// replace ends a program, with SIGTERM as Kubernetes does or as the loss of its node does, starts it again, and returns
// once it is ready.
func (w *system) replace(p *process, end func(*process)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	end(p)
	if status, said := p.readyz(); status != 0 {
		w.t.Errorf("%s has ended and still answers %d: %s", p.name, status, said)
	}
	w.log.Printf("%s has ended", p.name)
	p.Start()
	if !w.waits(time.Minute, func() bool {
		status, _ := p.readyz()
		return status == http.StatusOK
	}) {
		w.t.Errorf("%s is not ready again within a minute", p.name)
	}
	w.log.Printf("%s is ready again", p.name)
}

// checkOutage ends a server, waits until all programs report it on /readyz, mentions the bot, and
// restarts the server. The programs stay alive. An event that the door can store is
// acknowledged at once.
func (w *system) checkOutage(f *figures, what string, end, restart func()) {
	w.t.Helper()
	end()
	w.awaitReadyz(http.StatusServiceUnavailable, what)
	for _, p := range w.processes() {
		if status, said := p.Get("/livez"); status != http.StatusOK {
			w.t.Errorf("without %s, /livez of %s answers %d: %s", what, p.name, status, said)
		}
	}
	before := len(w.Workspace.Deliveries())
	f.people.do(act{verb: say, n: len(f.people.order) + 1, kind: mention, channel: 0})
	if what == "temporal" {
		world.Await(w.t, "the door to acknowledge the event", func() bool {
			return slices.ContainsFunc(w.Workspace.Deliveries()[before:], func(d workspace.Delivery) bool { return d.Status == http.StatusOK })
		})
	}
	restart()
	w.awaitReadyz(http.StatusOK, "ready")
}

// awaitReadyz waits until /readyz of every program answers with this status and a body that
// contains what.
func (w *system) awaitReadyz(want int, what string) {
	w.t.Helper()
	for _, p := range w.processes() {
		last := ""
		if !w.waits(time.Minute, func() bool {
			status, said := p.readyz()
			last = fmt.Sprintf("%d: %s", status, said)
			return status == want && strings.Contains(said, what)
		}) {
			w.t.Fatalf("/readyz of %s answers %s; want %d, %q", p.name, last, want, what)
		}
	}
}
