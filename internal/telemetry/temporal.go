package telemetry

import (
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// latencies are the upper bounds, in seconds, by which the SDK's latencies are
// counted: a task that is taken at once, and one that waits for a quarter of an hour.
var latencies = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900}

// keepTemporal has the SDK's metrics kept in the registry under the names that Temporal
// documents (docs.temporal.io/references/sdk-metrics), with the suffixes that Prometheus
// wants: _total of what counts, _seconds of what takes time.
func (t *Telemetry) keepTemporal() error {
	reader, err := prometheus.New(prometheus.WithRegisterer(t.Registry), prometheus.WithoutScopeInfo(), prometheus.WithoutTargetInfo())
	if err != nil {
		return err
	}
	provider := metric.NewMeterProvider(metric.WithReader(reader), metric.WithView(metric.NewView(
		metric.Instrument{Name: "temporal_*", Kind: metric.InstrumentKindHistogram},
		metric.Stream{Aggregation: metric.AggregationExplicitBucketHistogram{Boundaries: latencies, NoMinMax: true}},
	)))
	t.stop = append(t.stop, provider.Shutdown)
	t.temporal = opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter: provider.Meter("temporal-sdk-go"), UseMonotonicCounters: true,
		OnError: func(error) {}, // a name that it does not take: what is not kept hurts nobody
	})
	return nil
}
