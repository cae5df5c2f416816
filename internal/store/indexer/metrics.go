package indexer

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/runtime/telemetry"
	"myao/internal/store"
)

// State tells how far an index is, as store.Store does.
type State interface {
	IndexState(ctx context.Context) (store.IndexState, error)
}

// Register registers the metrics of an index.
func Register(r prometheus.Registerer, index State, clock func() time.Time) {
	messages := prometheus.NewDesc("myao_search_messages",
		"About how many messages the search index has; -1 when the database does not answer.", nil, nil)
	lag := prometheus.NewDesc("myao_search_lag_seconds",
		"Age of the oldest stored message that the search index has yet to get; -1 when the database does not answer.",
		nil, nil)
	r.MustRegister(telemetry.Gauges(func(ctx context.Context, set telemetry.SetGauge) {
		count, age := -1.0, -1.0
		if state, err := index.IndexState(ctx); err == nil {
			count, age = float64(state.Messages), 0
			if !state.Oldest.IsZero() {
				age = max(0, clock().Sub(state.Oldest).Seconds())
			}
		}
		set(messages, count)
		set(lag, age)
	}, messages, lag))
}
