package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"myao/workflows"
)

// figures is what a run is told in.
type figures struct {
	plan   plan
	world  *world
	people *people
	killer *killer

	mu    sync.Mutex
	slack map[string]int // failures of the Web API that took place, by name

	// notes are what only one test tells.
	notes         map[string]any
	load, settled time.Duration
	caught        workflows.CatchUpOutput
	record        record
	found         []finding
}

// figures begins the figures of a plan in this world.
func (w *world) figures(p plan) *figures {
	return &figures{plan: p, world: w, people: newPeople(w), killer: newKiller(w), slack: map[string]int{}, notes: map[string]any{}}
}

// settle waits for something that should come to an end; if it does not, that is found.
func (f *figures) settle(after string, wait func() error) {
	if err := wait(); err != nil {
		f.found = append(f.found, finding{unsettled, fmt.Sprintf("after %s: %v", after, err)})
	}
}

// print tells the figures.
func (f *figures) print(t *testing.T) {
	t.Helper()
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name string, value any) { _, _ = fmt.Fprintf(table, "%s\t%v\n", name, value) }
	counts := func(name string, of map[string]int) {
		row(name, total(of))
		for _, key := range slices.Sorted(maps.Keys(of)) {
			row("  "+key, of[key])
		}
	}
	kinds := map[string]int{}
	heard := 0
	for _, m := range f.record.said {
		kinds[string(m.kind)]++
		if !m.heard.IsZero() {
			heard++
		}
	}
	row("seed", f.plan.seed)
	row("people talked for", f.load.Round(time.Second))
	row("came to rest in", f.settled.Round(time.Second))
	counts("messages", kinds)
	row("  acknowledged", heard)
	row("edits", f.people.did[edit])
	row("edits that add a mention", f.people.did[call])
	row("deletions", f.people.did[remove])
	deliveries, acknowledged := f.world.workspace.Deliveries(), 0
	for _, d := range deliveries {
		if d.Status == 200 {
			acknowledged++
		}
	}
	row("events tried to be delivered", len(deliveries))
	row("  acknowledged", acknowledged)
	row("  slowest acknowledgement", time.Duration(f.world.balancer.slowest.Load()).Round(time.Millisecond))
	spoilt := map[string]int{}
	for how, n := range f.people.upset {
		spoilt[string(how)] = n
	}
	counts("deliveries spoilt", spoilt)
	counts("blows", f.killer.struck)
	fell := map[string]int{}
	for _, p := range f.world.processes() {
		fell[p.name] = p.fell
	}
	row("programs that ended by themselves", total(fell))
	f.mu.Lock()
	counts("failures of Slack", f.slack)
	f.mu.Unlock()
	f.world.mind.mu.Lock()
	counts("failures of the model", f.world.mind.failed)
	f.world.mind.mu.Unlock()
	row("plan behind the clock by at most", f.people.behind.Round(time.Millisecond))
	row("caught up with", fmt.Sprintf("%d channels, %d messages taken, %d failed", f.caught.Channels, f.caught.Taken, f.caught.Failed))
	row("decisions", len(f.record.decisions))
	row("posts", len(f.record.posts))
	for _, name := range slices.Sorted(maps.Keys(f.notes)) {
		row(name, f.notes[name])
	}
	p50, p99, n := f.latency()
	row("answered mentions", n)
	row("  half within", p50.Round(time.Millisecond))
	row("  99 of 100 within", p99.Round(time.Millisecond))
	found := map[fault]int{}
	for _, x := range f.found {
		found[x.fault]++
	}
	for _, x := range faults {
		row(string(x)+": "+meanings[x], found[x])
	}
	_ = table.Flush()
	t.Logf("figures\n%s", b.String())
}

func total(of map[string]int) int {
	n := 0
	for _, v := range of {
		n += v
	}
	return n
}

// latency is how long mentions that were heard at once waited for their answer.
func (f *figures) latency() (p50, p99 time.Duration, n int) {
	var waits []time.Duration
	for _, m := range f.record.said {
		if !m.addresses() || !m.deleted.IsZero() || m.heard.IsZero() {
			continue
		}
		for _, p := range f.record.posts {
			if at, trigger, _ := p.trigger(); at == m.home() && trigger >= m.ts && p.at.After(m.addressedAt()) {
				waits = append(waits, p.at.Sub(m.addressedAt()))
				break
			}
		}
	}
	if len(waits) == 0 {
		return 0, 0, 0
	}
	slices.Sort(waits)
	return waits[len(waits)/2], waits[len(waits)*99/100], len(waits)
}
