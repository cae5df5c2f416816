package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Our own span attributes.
const (
	Conversation = "myao.conversation" // a workflow id
	Event        = "myao.event"        // Slack's event id
)

// StartSpan starts a child of the context's span, with the same provider. Without a parent it
// returns a no-op span.
func StartSpan(ctx context.Context, name string, kind trace.SpanKind,
	attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.SpanContext().IsValid() {
		return ctx, noop.Span{}
	}
	return parent.TracerProvider().Tracer(tracerName).Start(ctx, name, trace.WithSpanKind(kind),
		trace.WithAttributes(attributes...))
}

// Fail marks a span as failed, unless kind is empty. kind is a short name of the failure, never
// an error's text, which may quote what people wrote.
func Fail(span trace.Span, kind string) {
	if kind != "" {
		span.SetAttributes(attribute.String("error.type", kind))
		span.SetStatus(codes.Error, kind)
	}
}

// Traceparent is the context's span in W3C's form, for work that continues the trace later or
// elsewhere; empty without a span.
func Traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// spanContext is the inverse of Traceparent. It returns an invalid context for invalid text.
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
