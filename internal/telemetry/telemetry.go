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

// scope is the name under which our spans are made.
const scope = "myao"

// Options say who is telling.
type Options struct {
	// Program is starter or worker.
	Program string
	// Version and Revision are what the program was built from; empty: not known.
	Version, Revision string
	// Lookup is the environment.
	Lookup func(string) (string, bool)
	Clock  func() time.Time
	Logger *slog.Logger
}

// Telemetry is one program's. Its methods work on nil, too, which tells nothing.
type Telemetry struct {
	// Registry is what /metrics shows.
	Registry *prometheus.Registry

	tracer       trace.Tracer
	temporal     client.MetricsHandler
	interceptors []interceptor.ClientInterceptor
	stop         []func(context.Context) error
}

// Open begins to tell. It fails where the environment asks for traces in a way that
// is not understood; a place that does not answer is no failure.
func Open(ctx context.Context, o Options) (*Telemetry, error) {
	t := &Telemetry{Registry: prometheus.NewRegistry(), tracer: noop.Tracer{}}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "myao_build_info", Help: "1, with the program's name and what it was built from.",
		ConstLabels: prometheus.Labels{"program": o.Program, "version": o.Version, "revision": o.Revision},
	})
	build.Set(1)
	t.Registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := t.keepTemporal(); err != nil {
		return nil, fmt.Errorf("keep Temporal's metrics: %w", err)
	}
	t.interceptors = append(t.interceptors, &naming{})
	if wanted(o.Lookup) {
		if err := t.trace(ctx, o); err != nil {
			return nil, errors.Join(fmt.Errorf("begin to trace: %w", err), t.Close(ctx))
		}
	}
	return t, nil
}

// Close sends what has not been sent yet, for as long as the context allows.
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

// Tracer makes spans; those of nil go nowhere.
func (t *Telemetry) Tracer() trace.Tracer {
	if t == nil {
		return noop.Tracer{}
	}
	return t.tracer
}

// ConfigureClient has a Temporal client, and the workers that use it, tell what they do.
func (t *Telemetry) ConfigureClient(o *client.Options) {
	if t == nil {
		return
	}
	o.MetricsHandler = t.temporal
	o.Interceptors = append(o.Interceptors, t.interceptors...)
}
