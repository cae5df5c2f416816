package tap

import (
	"slices"
	"sync"
)

// The limits of a history. maxBytes, of all texts together, exceeds the longest exchange
// (maxRequest, llm.BodyLimit).
const (
	maxExchanges = 500
	maxBytes     = 32 << 20
)

// history holds the newest exchanges.
type history struct {
	mu      sync.Mutex
	entries []entry // oldest first
	bytes   int
}

type entry struct {
	decision string
	Exchange
}

func (e entry) bytes() int {
	return len(e.decision) + len(e.Model) + len(e.System) + len(e.Prompt) + len(e.Tools) + len(e.LookedUp) +
		len(e.Answer) + len(e.Error)
}

// add adds an exchange and drops the oldest ones beyond the limits.
func (h *history) add(decision string, x Exchange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, entry{decision, x})
	h.bytes += h.entries[len(h.entries)-1].bytes()
	drop := 0
	for len(h.entries)-drop > maxExchanges || h.bytes > maxBytes {
		h.bytes -= h.entries[drop].bytes()
		drop++
	}
	h.entries = slices.Delete(h.entries, 0, drop)
}

// of returns the exchanges about a decision, oldest first.
func (h *history) of(decision string) []Exchange {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := []Exchange{}
	for _, e := range h.entries {
		if e.decision == decision {
			found = append(found, e.Exchange)
		}
	}
	return found
}
