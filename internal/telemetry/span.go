package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// The attributes of our own; the rest are OpenTelemetry's.
const (
	Conversation = "myao.conversation" // a workflow id
	Event        = "myao.event"        // Slack's id of an event
)

// StartSpan begins a span below the one in the context, of the same provider. Where there
// is none, nothing is begun.
func StartSpan(ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	above := trace.SpanFromContext(ctx)
	if !above.SpanContext().IsValid() {
		return ctx, noop.Span{}
	}
	return above.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
}

// Fail marks a span as failed. what is a short name of the kind of failure: never an
// error's own text, which may quote what people said. Empty: it has not failed.
func Fail(span trace.Span, what string) {
	if what != "" {
		span.SetAttributes(attribute.String("error.type", what))
		span.SetStatus(codes.Error, what)
	}
}

// Traceparent is the place of the context's span in W3C's form, by which what is done
// later, and elsewhere, finds its way back; empty without one.
func Traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// spanContext is the inverse of Traceparent; invalid for what is none.
func spanContext(traceparent string) trace.SpanContext {
	if traceparent == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
	return trace.SpanContextFromContext(ctx)
}

func traceparent(s trace.SpanContext) string {
	return Traceparent(trace.ContextWithSpanContext(context.Background(), s))
}
