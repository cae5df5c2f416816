package activities

import (
	"sync"
	"time"
)

// promisePace is the least time between two promises that a worker turns to. Many are due at the same full hour,
// and what people wait for needs the machines, too.
const promisePace = 100 * time.Millisecond

// Turnstile gives each key a turn, in the order in which they first ask. Its zero value is ready.
type Turnstile struct {
	mu    sync.Mutex
	next  time.Time            // when the next new key has its turn
	turns map[string]time.Time // of keys that were told to wait
}

// wait is how long a key has to wait for its turn, or 0 if it has come. A turn may be taken slotLead early. One that
// nobody takes for an hour is forgotten.
func (p *Turnstile) wait(key string, now time.Time) time.Duration {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	turn, known := p.turns[key]
	if !known {
		turn = now
		if p.next.After(now) {
			turn = p.next
		}
		p.next = turn.Add(promisePace)
	}
	if turn.Sub(now) <= slotLead {
		delete(p.turns, key)
		return 0
	}
	if p.turns == nil {
		p.turns = map[string]time.Time{}
	}
	p.turns[key] = turn
	for k, t := range p.turns {
		if now.Sub(t) > time.Hour {
			delete(p.turns, k)
		}
	}
	return turn.Sub(now)
}
