// Package telemetry provides what the programs report about themselves: the registry behind
// /metrics, trace spans, and the context of log lines. Neither what people wrote nor any
// secret passes through here.
//
// Metrics are always collected. Traces are collected only where OpenTelemetry's own variables
// name an exporter or an endpoint; otherwise no header is added to a signal or a history.
//
// A conversation's workflow may run for weeks, so its start is no useful root for a trace.
// One message is one trace instead: the request that brought it, the signal that carried it to
// the workflow, and the activities about it. See MessageTracing.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
)

// tracerName is the instrumentation scope of our spans.
const tracerName = "myao"

// Options describe the program.
type Options struct {
	// Program is starter or worker.
	Program string
	// Version and Revision are what the program was built from; empty: unknown.
	Version, Revision string
	// Lookup is the environment.
	Lookup func(string) (string, bool)
	Clock  func() time.Time
	Logger *slog.Logger
}

// Telemetry collects one program's metrics and traces. Its methods also work on nil, which
// collects nothing.
type Telemetry struct {
	// Registry is what /metrics shows.
	Registry *prometheus.Registry

	tracer       trace.Tracer
	temporal     client.MetricsHandler
	interceptors []interceptor.ClientInterceptor
	stop         []func(context.Context) error
}

// Open starts collecting. It fails when the environment's settings for traces are invalid. An
// endpoint that does not answer is no failure.
func Open(ctx context.Context, o Options) (*Telemetry, error) {
	t := &Telemetry{Registry: prometheus.NewRegistry(), tracer: noop.Tracer{}}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "myao_build_info", Help: "1, with the program's name and what it was built from.",
		ConstLabels: prometheus.Labels{"program": o.Program, "version": o.Version, "revision": o.Revision},
	})
	build.Set(1)
	t.Registry.MustRegister(build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := t.collectTemporalMetrics(); err != nil {
		return nil, fmt.Errorf("collect Temporal's metrics: %w", err)
	}
	t.interceptors = append(t.interceptors, &logInterceptor{})
	if tracesConfigured(o.Lookup) {
		if err := t.startTracing(ctx, o); err != nil {
			return nil, errors.Join(fmt.Errorf("start tracing: %w", err), t.Close(ctx))
		}
	}
	return t, nil
}

// Close exports what is buffered, for as long as the context allows.
func (t *Telemetry) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	var errs []error
	for _, stop := range t.stop {
		errs = append(errs, stop(ctx))
	}
	return errors.Join(errs...)
}

// Tracer creates spans. Without tracing they go nowhere.
func (t *Telemetry) Tracer() trace.Tracer {
	if t == nil {
		return noop.Tracer{}
	}
	return t.tracer
}

// ConfigureClient adds metrics and interceptors to a Temporal client and its workers.
func (t *Telemetry) ConfigureClient(o *client.Options) {
	if t == nil {
		return
	}
	o.MetricsHandler = t.temporal
	o.Interceptors = append(o.Interceptors, t.interceptors...)
}
