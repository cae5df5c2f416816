package relay

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/store"
)

// Metrics counts what is relayed.
type Metrics struct {
	relayed prometheus.Counter
	signals prometheus.Counter
	failed  prometheus.Counter
}

// NewMetrics registers the relay's metrics, the backlog among them.
func NewMetrics(r prometheus.Registerer, s *store.Store, clock func() time.Time) *Metrics {
	m := &Metrics{
		relayed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "myao_changes_relayed_total", Help: "Changes of messages that a signal has taken to their conversation.",
		}),
		signals: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "myao_signals_total", Help: "Signals that Temporal has taken; each carries the changes that waited for one conversation.",
		}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "myao_relay_failures_total", Help: "Signals that Temporal did not take; their changes wait.",
		}),
	}
	backlog := func(pick func(count int, oldest time.Time) float64) func() float64 {
		return func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			count, oldest, err := s.BacklogSize(ctx)
			if err != nil {
				return -1
			}
			return pick(count, oldest)
		}
	}
	r.MustRegister(m.relayed, m.signals, m.failed,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "myao_backlog_changes", Help: "Changes that wait to be relayed; -1 when the database does not say.",
		}, backlog(func(count int, _ time.Time) float64 { return float64(count) })),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "myao_backlog_age_seconds", Help: "Age of the oldest change that waits to be relayed; -1 when the database does not say.",
		}, backlog(func(_ int, oldest time.Time) float64 {
			if oldest.IsZero() {
				return 0
			}
			return clock().Sub(oldest).Seconds()
		})))
	return m
}
