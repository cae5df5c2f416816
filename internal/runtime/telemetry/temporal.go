package telemetry

import (
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// latencyBuckets are the upper bounds of the SDK's latency histograms, in seconds: from a task
// that is polled at once to one that waits for a quarter of an hour.
var latencyBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900}

// collectTemporalMetrics collects the SDK's metrics in the registry, under the names that
// Temporal documents (docs.temporal.io/references/sdk-metrics) with Prometheus' suffixes:
// _total for counters, _seconds for durations.
func (t *Telemetry) collectTemporalMetrics() error {
	reader, err := prometheus.New(prometheus.WithRegisterer(t.Registry), prometheus.WithoutScopeInfo(),
		prometheus.WithoutTargetInfo())
	if err != nil {
		return err
	}
	provider := metric.NewMeterProvider(metric.WithReader(reader), metric.WithView(metric.NewView(
		metric.Instrument{Name: "temporal_*", Kind: metric.InstrumentKindHistogram},
		metric.Stream{Aggregation: metric.AggregationExplicitBucketHistogram{Boundaries: latencyBuckets,
			NoMinMax: true}},
	)))
	t.stop = append(t.stop, provider.Shutdown)
	t.temporal = opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter: provider.Meter("temporal-sdk-go"), UseMonotonicCounters: true,
		OnError: func(error) {}, // an invalid metric name: the metric is dropped
	})
	return nil
}
