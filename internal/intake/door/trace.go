package door

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"myao/internal/runtime/telemetry"
)

// startSpan starts the trace of a delivery. It is a new root: nobody outside may choose its id.
func (d *Door) startSpan(
	ctx context.Context, name string, kind trace.SpanKind, began time.Time,
) (context.Context, trace.Span) {
	if d.Tracer == nil {
		return ctx, noop.Span{}
	}
	return d.Tracer.Start(ctx, name, trace.WithNewRoot(), trace.WithSpanKind(kind), trace.WithTimestamp(began))
}

// withEvent adds the event's id to the span and to all log lines of the context.
func withEvent(ctx context.Context, event string) context.Context {
	if event == "" {
		return ctx
	}
	trace.SpanFromContext(ctx).SetAttributes(attribute.String(telemetry.Event, event))
	return telemetry.WithLogAttrs(ctx, slog.String("event", event))
}

// traced serves a request in a span.
func (d *Door) traced(w http.ResponseWriter, r *http.Request, began time.Time,
	serve func(http.ResponseWriter, *http.Request)) {
	ctx, span := d.startSpan(r.Context(), r.Method+" "+r.URL.Path, trace.SpanKindServer, began)
	defer span.End()
	if !span.SpanContext().IsValid() {
		serve(w, r)
		return
	}
	s := &statusWriter{ResponseWriter: w, code: http.StatusOK}
	serve(s, r.WithContext(ctx))
	span.SetAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", r.URL.Path),
		attribute.Int("http.response.status_code", s.code))
	if s.code >= http.StatusInternalServerError {
		telemetry.Fail(span, http.StatusText(s.code))
	}
}

// statusWriter remembers the HTTP status of a response.
type statusWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (s *statusWriter) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}
