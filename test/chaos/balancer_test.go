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

// balancer is a round-robin load balancer in front of the starters. If a starter refuses or
// drops the connection, it tries the next one. A starter that accepts the connection and does
// not answer keeps its request waiting.
type balancer struct {
	starters []string // host:port
	next     atomic.Uint64
	client   *http.Client
	// slowest is the longest time until an acknowledgement, in nanoseconds.
	slowest atomic.Int64
	refused atomic.Int64 // requests not answered with 200
}

// newBalancer returns a balancer and its URL.
func newBalancer(t *testing.T, starters []string) (*balancer, string) {
	b := &balancer{starters: starters, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
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
	first := b.next.Add(1)
	for i := range b.starters {
		starter := b.starters[(int(first)+i)%len(b.starters)]
		ask, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+starter+r.URL.Path, bytes.NewReader(body))
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
