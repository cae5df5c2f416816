package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// killer kills and freezes processes as planned, and starts or thaws them again.
type killer struct {
	w  *system
	mu sync.Mutex
	// temporal and postgres serialize the blows to each.
	temporal, postgres sync.Mutex
	count              map[string]int
}

func newKiller(w *system) *killer { return &killer{w: w, count: map[string]int{}} }

// run returns once the last victim is back.
func (k *killer) run(ctx context.Context, began time.Time, blows []blow) {
	var wg sync.WaitGroup
	for _, b := range blows {
		if !sleepUntil(ctx, began.Add(b.at)) {
			break
		}
		wg.Go(func() { k.strike(ctx, b) })
	}
	wg.Wait()
}

func (k *killer) strike(ctx context.Context, b blow) {
	what := fmt.Sprintf("%s killed", b.victim)
	if b.freeze {
		what = fmt.Sprintf("%s frozen", b.victim)
	}
	down := func() {
		k.w.log.Printf("%s (%d) for %s", what, b.index, b.lasts)
		sleepUntil(ctx, time.Now().Add(b.lasts))
	}
	defer func() { k.w.log.Printf("%s (%d): it is back", what, b.index) }()
	switch b.victim {
	case temporal:
		k.temporal.Lock()
		defer k.temporal.Unlock()
		k.w.temporal.Kill()
		down()
		k.w.temporal.Restart()
	case database:
		k.postgres.Lock()
		defer k.postgres.Unlock()
		k.w.postgres.Kill()
		down()
		k.w.postgres.Restart()
	default:
		p := k.w.starters
		if b.victim == workerVictim {
			p = k.w.workers
		}
		victim := p[b.index%len(p)]
		victim.mu.Lock()
		defer victim.mu.Unlock()
		if b.freeze {
			victim.Freeze()
			down()
			victim.Thaw()
		} else {
			victim.Kill()
			down()
			victim.Start()
		}
	}
	k.mu.Lock()
	k.count[what]++
	k.mu.Unlock()
}

// watch restarts crashed programs, as a supervisor does, until the context ends.
func (w *system) watch(ctx context.Context) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, p := range w.processes() {
			if !p.mu.TryLock() {
				continue // it is being killed
			}
			select {
			case <-p.Ended():
				p.crashes++
				p.Kill() // records that the program is down
				p.Start()
			default:
			}
			p.mu.Unlock()
		}
	}
}
