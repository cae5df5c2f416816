package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// tracesConfigured reports whether the environment names an exporter or an endpoint for traces
// (opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables). By default the
// specification would send them to a collector on this machine, which most do not have.
func tracesConfigured(lookup func(string) (string, bool)) bool {
	value := func(name string) string {
		v, _ := lookup(name)
		return strings.TrimSpace(v)
	}
	if strings.EqualFold(value("OTEL_SDK_DISABLED"), "true") || value("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return value("OTEL_TRACES_EXPORTER") != "" || value("OTEL_EXPORTER_OTLP_ENDPOINT") != "" ||
		value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// startTracing exports spans as the environment says, sampling included.
func (t *Telemetry) startTracing(ctx context.Context, o Options) error {
	otel.SetLogger(logr.FromSlogHandler(redactingHandler{o.Logger.Handler()}))
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return err
	}
	attrs := []attribute.KeyValue{attribute.String("service.name", "myao-"+o.Program)}
	if o.Version != "" {
		attrs = append(attrs, attribute.String("service.version", o.Version))
	}
	// Later options win.
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithAttributes(attrs...),
		resource.WithFromEnv())
	if err != nil {
		o.Logger.Warn("spans lack some attributes of this machine", "error", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&quietExporter{SpanExporter: exporter, clock: o.Clock, logger: o.Logger}),
		sdktrace.WithResource(res))
	t.stop = append(t.stop, provider.Shutdown)
	t.tracer = provider.Tracer(tracerName)
	tracing, err := NewMessageTracing(t.tracer)
	if err != nil {
		return err
	}
	t.interceptors = append(t.interceptors, tracing)
	o.Logger.Info("traces are exported")
	return nil
}

// redactingHandler logs OpenTelemetry's errors without their attributes: the value of a variable
// that it cannot parse may be a collector's token.
type redactingHandler struct{ slog.Handler }

func (h redactingHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

func (h redactingHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h redactingHandler) WithGroup(string) slog.Handler { return h }

func (h redactingHandler) Handle(ctx context.Context, r slog.Record) error {
	redacted := slog.NewRecord(r.Time, r.Level, "OpenTelemetry failed; check the variables OTEL_…", r.PC)
	redacted.AddAttrs(slog.String("at", r.Message))
	return h.Handler.Handle(ctx, redacted)
}

// warnInterval is the time between two warnings about a failing exporter.
const warnInterval = 10 * time.Minute

// quietExporter logs failures of an exporter only now and then. The spans are lost, and the
// bot goes on.
type quietExporter struct {
	sdktrace.SpanExporter
	clock  func() time.Time
	logger *slog.Logger

	mu     sync.Mutex
	warned time.Time
	lost   int
}

// ExportSpans never fails.
func (e *quietExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lost += len(spans)
	if now := e.clock(); e.warned.IsZero() || now.Sub(e.warned) >= warnInterval {
		e.logger.Warn("spans not exported; they are lost", "spans", e.lost, "error", err)
		e.warned, e.lost = now, 0
	}
	return nil
}
