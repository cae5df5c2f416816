package chaos

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// balancer stands before the starters, as a load balancer does: it goes round, and
// where one does not take the connection, or lets go of it, tries the next. One that
// takes it and says nothing keeps its request waiting.
type balancer struct {
	doors  []string // host:port
	turn   atomic.Uint64
	client *http.Client
	// slowest is the longest time that a request which was acknowledged took, in nanoseconds.
	slowest atomic.Int64
	refused atomic.Int64 // requests that were answered with other than 200
}

// balance returns a balancer and the address that it serves.
func balance(t *testing.T, doors []string) (*balancer, string) {
	b := &balancer{doors: doors, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return b, server.URL
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	first := b.turn.Add(1)
	for i := range b.doors {
		door := b.doors[(int(first)+i)%len(b.doors)]
		ask, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+door+r.URL.Path, bytes.NewReader(body))
		if err != nil {
			break
		}
		ask.Header = r.Header.Clone()
		answer, err := b.client.Do(ask)
		if err != nil {
			continue
		}
		said, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			continue
		}
		if answer.StatusCode == http.StatusOK {
			for took := int64(time.Since(began)); ; {
				slowest := b.slowest.Load()
				if took <= slowest || b.slowest.CompareAndSwap(slowest, took) {
					break
				}
			}
		} else {
			b.refused.Add(1)
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(said)
		return
	}
	b.refused.Add(1)
	w.WriteHeader(http.StatusBadGateway)
}
