package chaos

import (
	"context"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/sandbox/workspace"
)

// settleTimeout is how long the bot may take to finish all work once people have stopped and
// nothing fails any more.
const settleTimeout = 10 * time.Minute

// TestChaos kills, freezes and fails things while people write, and then checks every promise.
func TestChaos(t *testing.T) {
	s := scale{
		seed: *flagSeed, messages: *flagMessages, kills: *flagKills, rate: *flagRate,
		channels: 14, direct: 4, people: 6, starters: 2, workers: 3, slow: *flagLong,
	}
	if s.messages > 1000 {
		s.channels, s.direct, s.people = 40, 12, 16
	}
	if s.seed == 0 {
		s.seed = rand.Uint64N(1_000_000_000)
	}
	plan := draw(s)
	t.Logf("seed %d: %d messages at %g a second, %d kills; again with: go test ./test/chaos -run TestChaos -v -chaos.seed=%d -chaos.messages=%d -chaos.kills=%d -chaos.rate=%g -chaos.temporal=%s -chaos.long=%v",
		s.seed, s.messages, s.rate, s.kills, s.seed, s.messages, s.kills, s.rate, *flagTemporal, *flagLong)
	w := build(t, settings{
		starters: s.starters, workers: s.workers, channels: s.channels, direct: s.direct, people: s.people,
		minWait: 2, jitter: 0.5, maxWait: 10, temporal: *flagTemporal, seed: s.seed,
		retryAfter: []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second},
	})
	f := w.figures(plan)
	f.runPlan(f.runBlows, f.runFailures)
	f.finish()
}

// runPlan runs the people's part of the plan and everything else at the same time, and returns
// when all of it is over.
func (f *figures) runPlan(meanwhile ...func(ctx context.Context, began time.Time)) {
	f.world.t.Helper()
	ctx, cancel := context.WithCancel(f.world.t.Context())
	defer cancel()
	var wg, keepers sync.WaitGroup
	keepers.Go(func() { f.world.watch(ctx) })
	keepers.Go(func() { f.world.forgetCalls(ctx) })
	began := time.Now()
	wg.Go(func() { f.people.run(ctx, began, f.plan.acts) })
	for _, do := range meanwhile {
		wg.Go(func() { do(ctx, began) })
	}
	wg.Wait()
	f.load = time.Since(began)
	cancel()
	keepers.Wait()
}

// finish ends all failures, waits until the bot is idle, catches up once more, prints the
// figures, and fails the test for every fault found.
func (f *figures) finish() {
	w := f.world
	w.t.Helper()
	w.Workspace.Faults().Clear()
	w.Workspace.ReleaseHeld()
	w.model.stopFailing()
	began := time.Now()
	f.await("people had stopped", func() error { return w.awaitIdle(settleTimeout) })
	f.await("catching up", func() error {
		var err error
		f.caught, err = w.catchUp(*flagLong, settleTimeout)
		return err
	})
	f.await("catch-up", func() error { return w.awaitIdle(settleTimeout) })
	f.settled = time.Since(began)

	var err error
	if f.record, err = w.gather(f.people); err != nil {
		w.t.Fatal(err)
	}
	f.found = append(f.found, check(f.record)...)
	f.print(w.t)
	var ages []string
	if !w.waits(time.Minute, func() bool { // it is -1 where the database takes longer than two seconds
		ages = w.unfinishedAges()
		return len(ages) == 3 && !slices.ContainsFunc(ages, func(age string) bool { return !strings.HasSuffix(age, " 0") })
	}) {
		w.t.Errorf("the starter says that work is not finished: %q", ages)
	}
	for _, found := range f.found {
		w.t.Error(found)
	}
}

// unfinishedAges returns what the first starter exports as the ages of unfinished work.
func (w *system) unfinishedAges() []string {
	w.t.Helper()
	_, body := w.starters[0].Get("/metrics")
	return regexp.MustCompile(`(?m)^myao_unfinished_age_seconds.*$`).FindAllString(body, -1)
}

func (f *figures) runBlows(ctx context.Context, began time.Time) {
	f.killer.run(ctx, began, f.plan.blows)
}

// runFailures makes Slack and the model fail as planned.
func (f *figures) runFailures(ctx context.Context, began time.Time) {
	for _, p := range f.plan.failures {
		if !sleepUntil(ctx, began.Add(p.at)) {
			return
		}
		if p.model {
			f.world.log.Printf("the model fails %d times: %s", p.times, modelFaults[p.which].name)
			f.world.model.fail(modelFaults[p.which].name, p.times)
			continue
		}
		fault := slackFaults[p.which]
		name := slackFault(fault)
		fault.Times = p.times
		f.world.log.Printf("Slack fails %d times: %s", p.times, name)
		fault.Match = func(workspace.Call) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.slack[name]++
			return true
		}
		f.world.Workspace.Faults().Add(fault)
	}
}

// forgetCalls regularly drops the model's log of calls, which would grow without limit.
func (w *system) forgetCalls(ctx context.Context) {
	for sleepUntil(ctx, time.Now().Add(5*time.Second)) {
		w.Model.Reset()
	}
}
