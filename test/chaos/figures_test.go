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

// figures are the results of a run.
type figures struct {
	plan   plan
	world  *system
	people *people
	killer *killer

	mu    sync.Mutex
	slack map[string]int // failures of the Web API that happened, by name

	notes         map[string]any // figures of one test only
	load, settled time.Duration
	caught        workflows.CatchUpOutput
	record        record
	found         []finding
}

// figures returns empty figures for a plan in this world.
func (w *system) figures(p plan) *figures {
	return &figures{plan: p, world: w, people: newPeople(w), killer: newKiller(w), slack: map[string]int{}, notes: map[string]any{}}
}

// await waits for something that should end. If it does not, it adds a finding.
func (f *figures) await(after string, wait func() error) {
	if err := wait(); err != nil {
		f.found = append(f.found, finding{unsettled, fmt.Sprintf("after %s: %v", after, err)})
	}
}

// print logs the figures.
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
		if !m.acknowledged.IsZero() {
			heard++
		}
	}
	row("seed", f.plan.seed)
	row("people wrote for", f.load.Round(time.Second))
	row("idle after", f.settled.Round(time.Second))
	counts("messages", kinds)
	row("  acknowledged", heard)
	row("edits", f.people.did[edit])
	row("edits that add a mention", f.people.did[addMention])
	row("deletions", f.people.did[remove])
	deliveries, acknowledged := f.world.Workspace.Deliveries(), 0
	for _, d := range deliveries {
		if d.Status == 200 {
			acknowledged++
		}
	}
	row("deliveries of events", len(deliveries))
	row("  acknowledged", acknowledged)
	row("  slowest acknowledgement", time.Duration(f.world.balancer.slowest.Load()).Round(time.Millisecond))
	spoilt := map[string]int{}
	for how, n := range f.people.disturbed {
		spoilt[string(how)] = n
	}
	counts("deliveries disturbed", spoilt)
	counts("blows", f.killer.count)
	fell := map[string]int{}
	for _, p := range f.world.processes() {
		fell[p.name] = p.crashes
	}
	row("crashes of programs", total(fell))
	f.mu.Lock()
	counts("failures of Slack", f.slack)
	f.mu.Unlock()
	f.world.model.mu.Lock()
	counts("failures of the model", f.world.model.failed)
	f.world.model.mu.Unlock()
	row("plan late by at most", f.people.behind.Round(time.Millisecond))
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

// latency returns how long mentions waited for their answer, without deleted and unacknowledged
// ones.
func (f *figures) latency() (p50, p99 time.Duration, n int) {
	var waits []time.Duration
	for _, m := range f.record.said {
		if !m.addresses() || !m.deleted.IsZero() || m.acknowledged.IsZero() {
			continue
		}
		for _, p := range f.record.posts {
			if at, trigger, _ := p.trigger(); at == m.answerPlace() && trigger >= m.ts && p.at.After(m.addressedAt()) {
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
