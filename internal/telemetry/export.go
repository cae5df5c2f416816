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

// wanted reports whether the environment names a place for traces
// (opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables). Without
// OTEL_TRACES_EXPORTER the specification would send them to a collector on this
// machine, which most do not have: so an endpoint has to be named.
func wanted(lookup func(string) (string, bool)) bool {
	value := func(name string) string {
		v, _ := lookup(name)
		return strings.TrimSpace(v)
	}
	if strings.EqualFold(value("OTEL_SDK_DISABLED"), "true") || value("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return value("OTEL_TRACES_EXPORTER") != "" || value("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// trace sends spans where the environment says, sampled as it says.
func (t *Telemetry) trace(ctx context.Context, o Options) error {
	otel.SetLogger(logr.FromSlogHandler(valueless{o.Logger.Handler()}))
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return err
	}
	ours := []attribute.KeyValue{attribute.String("service.name", "myao-"+o.Program)}
	if o.Version != "" {
		ours = append(ours, attribute.String("service.version", o.Version))
	}
	// What stands later wins.
	of, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithAttributes(ours...), resource.WithFromEnv())
	if err != nil {
		o.Logger.Warn("not all is known of where spans come from", "error", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&patient{SpanExporter: exporter, clock: o.Clock, logger: o.Logger}), sdktrace.WithResource(of))
	t.stop = append(t.stop, provider.Shutdown)
	t.tracer = provider.Tracer(scope)
	journey, err := NewMessageTracing(t.tracer)
	if err != nil {
		return err
	}
	t.interceptors = append(t.interceptors, journey)
	o.Logger.Info("traces are sent")
	return nil
}

// valueless has OpenTelemetry say what goes wrong in it, and nothing more: of a variable that
// it cannot read it would print the value, which may be a collector's token.
type valueless struct{ slog.Handler }

func (h valueless) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

func (h valueless) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h valueless) WithGroup(string) slog.Handler { return h }

func (h valueless) Handle(ctx context.Context, r slog.Record) error {
	bare := slog.NewRecord(r.Time, r.Level, "OpenTelemetry fails at something; look at the variables OTEL_…", r.PC)
	bare.AddAttrs(slog.String("at", r.Message))
	return h.Handler.Handle(ctx, bare)
}

// silence is for how long a failing exporter is not heard again.
const silence = 10 * time.Minute

// patient is an exporter whose failures are told once in a while, and forgotten: the
// bot goes on, and the spans are lost.
type patient struct {
	sdktrace.SpanExporter
	clock  func() time.Time
	logger *slog.Logger

	mu   sync.Mutex
	told time.Time
	lost int
}

// ExportSpans never fails.
func (p *patient) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := p.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost += len(spans)
	if now := p.clock(); p.told.IsZero() || now.Sub(p.told) >= silence {
		p.logger.Warn("spans not sent; they are lost", "spans", p.lost, "error", err)
		p.told, p.lost = now, 0
	}
	return nil
}
