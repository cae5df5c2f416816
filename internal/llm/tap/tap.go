// Package tap lets the sandbox's page show what the model was asked and what it answered, and act as if the model were
// down. The sandbox serves a Tap, which keeps the newest exchanges in memory. Only the worker that the sandbox has
// started puts Before between itself and its models.
package tap

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// The limits of a Tap. maxBytes, of all texts together, exceeds the longest exchange.
const (
	maxExchanges = 500
	maxBytes     = 32 << 20
	maxExchange  = 24 << 20 // as JSON
)

// Tap is the http.Handler that the worker reports to. Its zero value is ready. It is safe for concurrent use.
type Tap struct {
	mu        sync.Mutex
	exchanges []Exchange // oldest first
	bytes     int
	down      atomic.Bool
}

// SetDown makes the worker's calls fail as if the model were down, or stops that. Calls under way are still answered.
func (t *Tap) SetDown(down bool) { t.down.Store(down) }

// Down reports whether calls fail.
func (t *Tap) Down() bool { return t.down.Load() }

// ServeHTTP tells whether the model is down, and keeps the exchange that is posted.
func (t *Tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var x Exchange
	switch {
	case r.Header.Get("Origin") != "":
		// Any web page may try to reach this port. The worker sends no Origin.
		http.Error(w, "web pages may not report exchanges", http.StatusForbidden)
	case r.Method == http.MethodGet && t.Down():
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.Method == http.MethodGet:
	case json.NewDecoder(http.MaxBytesReader(w, r.Body, maxExchange)).Decode(&x) != nil:
		http.Error(w, "want an exchange as JSON", http.StatusBadRequest)
	default:
		t.add(x)
	}
}

func (x Exchange) bytes() int {
	return len(x.Decision) + len(x.Purpose) + len(x.Model) + len(x.System) + len(x.Prompt) + len(x.Tools) +
		len(x.LookedUp) + len(x.Answer) + len(x.Error)
}

// add adds an exchange and drops the oldest ones beyond the limits.
func (t *Tap) add(x Exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.exchanges = append(t.exchanges, x)
	t.bytes += x.bytes()
	drop := 0
	for len(t.exchanges)-drop > maxExchanges || t.bytes > maxBytes {
		t.bytes -= t.exchanges[drop].bytes()
		drop++
	}
	t.exchanges = slices.Delete(t.exchanges, 0, drop)
}

// Exchanges returns the kept exchanges about a decision, in the order in which they ended, which is the order of the
// ledger's calls.
func (t *Tap) Exchanges(decision string) []Exchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := []Exchange{}
	for _, x := range t.exchanges {
		if x.Decision == decision {
			found = append(found, x)
		}
	}
	return found
}
