package chaos

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"myao/internal/sandbox"
)

// settleFor is how long everything may take to come to rest when nobody says anything
// more and nothing fails any more.
const settleFor = 10 * time.Minute

// TestChaos kills, freezes and falsifies while people talk, and then asks Slack
// whether every promise was kept.
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
	f.live(f.strike, f.mischief)
	f.reckon()
}

// live has people talk, and everything else happen meanwhile, and returns when all of
// it is over.
func (f *figures) live(meanwhile ...func(ctx context.Context, began time.Time)) {
	f.world.t.Helper()
	ctx, cancel := context.WithCancel(f.world.t.Context())
	defer cancel()
	var wg, keepers sync.WaitGroup
	keepers.Go(func() { f.world.watch(ctx) })
	keepers.Go(func() { f.world.forget(ctx) })
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

// reckon ends all that fails, waits for everything to come to rest, catches up once
// more, prints the figures, and fails the test for every fault that is found.
func (f *figures) reckon() {
	w := f.world
	w.t.Helper()
	w.workspace.Faults().Clear()
	w.workspace.ReleaseHeld()
	w.mind.behave()
	began := time.Now()
	f.settle("people had stopped", func() error { return w.rest(settleFor) })
	f.settle("catching up", func() error {
		var err error
		f.caught, err = w.catchUp(*flagLong, settleFor)
		return err
	})
	f.settle("catch-up", func() error { return w.rest(settleFor) })
	f.settled = time.Since(began)

	var err error
	if f.record, err = w.gather(f.people); err != nil {
		w.t.Fatal(err)
	}
	f.found = append(f.found, check(f.record)...)
	f.print(w.t)
	for _, found := range f.found {
		w.t.Error(found)
	}
}

func (f *figures) strike(ctx context.Context, began time.Time) {
	f.killer.run(ctx, began, f.plan.blows)
}

// mischief has Slack and the model fail as planned.
func (f *figures) mischief(ctx context.Context, began time.Time) {
	for _, p := range f.plan.pranks {
		if !sleepUntil(ctx, began.Add(p.at)) {
			return
		}
		if p.model {
			f.world.story.Printf("the model fails %d times: %s", p.times, modelFaults[p.which].name)
			f.world.mind.fail(modelFaults[p.which].name, p.times)
			continue
		}
		fault := slackFaults[p.which]
		name := slackFault(fault)
		fault.Times = p.times
		f.world.story.Printf("Slack fails %d times: %s", p.times, name)
		fault.Match = func(sandbox.Call) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.slack[name]++
			return true
		}
		f.world.workspace.Faults().Add(fault)
	}
}

// forget keeps the model's memory of its calls from growing.
func (w *world) forget(ctx context.Context) {
	for sleepUntil(ctx, time.Now().Add(5*time.Second)) {
		w.calls.Forget()
	}
}
