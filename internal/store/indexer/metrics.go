package indexer

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/store"
)

var (
	indexedMessages = prometheus.NewDesc("myao_search_messages",
		"About how many messages the search index has; -1 when the database does not answer.", nil, nil)
	indexLag = prometheus.NewDesc("myao_search_lag_seconds",
		"Age of the oldest stored message that the search index has yet to get; -1 when the database does not answer.", nil, nil)
)

// State tells how far an index is, as store.Store does.
type State interface {
	IndexState(ctx context.Context) (store.IndexState, error)
}

// Register registers the metrics of an index.
func Register(r prometheus.Registerer, s State, clock func() time.Time) {
	r.MustRegister(lag{s, clock})
}

// lag collects both gauges from one query.
type lag struct {
	index State
	clock func() time.Time
}

// Describe implements prometheus.Collector.
func (l lag) Describe(to chan<- *prometheus.Desc) {
	to <- indexedMessages
	to <- indexLag
}

// Collect implements prometheus.Collector.
func (l lag) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	messages, age := -1.0, -1.0
	if state, err := l.index.IndexState(ctx); err == nil {
		messages, age = float64(state.Messages), 0
		if !state.Oldest.IsZero() {
			age = max(0, l.clock().Sub(state.Oldest).Seconds())
		}
	}
	to <- prometheus.MustNewConstMetric(indexedMessages, prometheus.GaugeValue, messages)
	to <- prometheus.MustNewConstMetric(indexLag, prometheus.GaugeValue, age)
}
