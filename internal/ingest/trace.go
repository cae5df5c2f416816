package ingest

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"myao/internal/telemetry"
)

// startSpan begins the trace of what Slack has sent: its own, whatever a header may say.
func (d *Door) startSpan(ctx context.Context, name string, kind trace.SpanKind, began time.Time) (context.Context, trace.Span) {
	if d.Tracer == nil {
		return ctx, noop.Span{}
	}
	return d.Tracer.Start(ctx, name, trace.WithNewRoot(), trace.WithSpanKind(kind), trace.WithTimestamp(began))
}

// withEvent has lines and the span say which event is being taken in.
func withEvent(ctx context.Context, event string) context.Context {
	if event == "" {
		return ctx
	}
	trace.SpanFromContext(ctx).SetAttributes(attribute.String(telemetry.Event, event))
	return telemetry.WithLogAttrs(ctx, slog.String("event", event))
}

// traced serves a request within a span.
func (d *Door) traced(w http.ResponseWriter, r *http.Request, began time.Time, serve func(http.ResponseWriter, *http.Request)) {
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

// statusWriter keeps what a request was answered with.
type statusWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader notes the code.
func (s *statusWriter) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}
