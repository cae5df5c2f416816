package telemetry

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

const (
	// tracesHeader is the header of signals and runs that carries message traces.
	tracesHeader = "myao-traces"
	// sdkHeader is the SDK's own header, by which an activity finds its parent span.
	sdkHeader = "_tracer-data"
	// maxTraces is how many message traces a run keeps, and how many a signal carries.
	maxTraces = 50
)

// MessageTrace is the trace of one message.
type MessageTrace struct {
	TS string `json:"ts"`
	// Traceparent is the span that continues the trace, in W3C's form; empty: no trace.
	Traceparent string `json:"trace"`
}

// contextKey is the context's key of the []MessageTrace that a signal carries.
type contextKey struct{}

// StartSignalSpan starts the span of a signal that carries messages to a conversation. The
// first message with a trace provides the parent span; the others are linked. Each message's
// activities continue its own trace. Those of the parent's trace continue below this span.
func StartSignalSpan(ctx context.Context, tracer trace.Tracer, conversation string,
	messages []MessageTrace) (context.Context, trace.Span) {
	var parent trace.SpanContext
	var links []trace.Link
	var seen []trace.TraceID
	for _, m := range messages {
		from := spanContext(m.Traceparent)
		switch {
		case !from.IsValid() || slices.Contains(seen, from.TraceID()):
			continue
		case !parent.IsValid():
			parent = from
		case len(links) < maxTraces:
			links = append(links, trace.Link{SpanContext: from})
		}
		seen = append(seen, from.TraceID())
	}
	ctx, span := tracer.Start(trace.ContextWithRemoteSpanContext(ctx, parent), "relay",
		trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithLinks(links...), trace.WithAttributes(attribute.String(Conversation, conversation),
			attribute.Int("myao.changes", len(messages))))
	here := span.SpanContext()
	if !here.IsValid() {
		return ctx, span // tracing is off
	}
	var traces []MessageTrace
	for _, m := range messages[max(0, len(messages)-maxTraces):] {
		at := spanContext(m.Traceparent)
		if !at.IsValid() || at.TraceID() == here.TraceID() {
			at = here
		}
		traces = append(traces, MessageTrace{TS: m.TS, Traceparent: traceparent(at)})
	}
	return context.WithValue(ctx, contextKey{}, traces), span
}

// MessageTracing is a Temporal interceptor that traces by message instead of by run: what a
// run does for a message belongs to that message's trace, even if another message started the
// run weeks ago. It writes headers and spans only: no command of a workflow depends on it.
type MessageTracing struct {
	interceptor.InterceptorBase
	sdk    interceptor.Interceptor
	tracer trace.Tracer
}

// NewMessageTracing creates the interceptor. The tracer creates its spans.
func NewMessageTracing(tracer trace.Tracer) (*MessageTracing, error) {
	sdk, err := opentelemetry.NewTracer(opentelemetry.TracerOptions{
		Tracer: tracer, TextMapPropagator: propagation.TraceContext{}, DisableBaggage: true,
		DisableQueryTracing: true, AllowInvalidParentSpans: true,
	})
	if err != nil {
		return nil, err
	}
	return &MessageTracing{sdk: interceptor.NewTracingInterceptor(sdk), tracer: tracer}, nil
}

// InterceptClient traces calls as the SDK does, with two exceptions.
func (t *MessageTracing) InterceptClient(
	next interceptor.ClientOutboundInterceptor,
) interceptor.ClientOutboundInterceptor {
	c := &clientOutbound{untraced: next}
	c.Next = t.sdk.InterceptClient(next)
	return c
}

// InterceptActivity traces attempts as the SDK does: below the span in the header.
func (t *MessageTracing) InterceptActivity(ctx context.Context,
	next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return t.sdk.InterceptActivity(ctx, next)
}

// InterceptWorkflow intercepts signals and activity calls.
func (t *MessageTracing) InterceptWorkflow(_ workflow.Context,
	next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	w := &workflowInbound{tracer: t.tracer}
	w.Next = next
	return w
}

// clientOutbound intercepts the client's calls.
type clientOutbound struct {
	interceptor.ClientOutboundInterceptorBase
	untraced interceptor.ClientOutboundInterceptor
}

// SignalWithStartWorkflow adds the traces of StartSignalSpan to the header.
func (c *clientOutbound) SignalWithStartWorkflow(ctx context.Context,
	in *interceptor.ClientSignalWithStartWorkflowInput) (client.WorkflowRun, error) {
	if traces, ok := ctx.Value(contextKey{}).([]MessageTrace); ok {
		if payload, err := converter.GetDefaultDataConverter().ToPayload(traces); err == nil {
			interceptor.Header(ctx)[tracesHeader] = payload
		}
	}
	return c.Next.SignalWithStartWorkflow(ctx, in)
}

// CreateSchedule is not traced: every run of the schedule would inherit its header.
func (c *clientOutbound) CreateSchedule(ctx context.Context,
	in *interceptor.ScheduleClientCreateInput) (client.ScheduleHandle, error) {
	return c.untraced.CreateSchedule(ctx, in)
}

// workflowInbound intercepts one run. It keeps only what the run's history holds, so that a
// replay restores it.
type workflowInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	tracer trace.Tracer
	traces []MessageTrace // the newest last
}

// Init intercepts the calls that the workflow makes.
func (w *workflowInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	o := &workflowOutbound{inbound: w}
	o.Next = next
	return w.Next.Init(o)
}

// ExecuteWorkflow reads the traces that the previous run passed on.
func (w *workflowInbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	w.readHeader(ctx)
	return w.Next.ExecuteWorkflow(ctx, in)
}

// HandleSignal reads the traces of new messages, and records a span of the signal.
func (w *workflowInbound) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	w.readHeader(ctx)
	if !workflow.IsReplaying(ctx) {
		var data map[string]string
		if payload := interceptor.WorkflowHeader(ctx)[sdkHeader]; payload != nil {
			_ = converter.GetDefaultDataConverter().FromPayload(payload, &data)
		}
		if from := spanContext(data["traceparent"]); from.IsValid() {
			now := time.Now() // the span's time is the clock's, not the workflow's
			_, span := w.tracer.Start(trace.ContextWithRemoteSpanContext(context.Background(), from),
				"HandleSignal:"+in.SignalName,
				trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(now),
				trace.WithAttributes(attribute.String(Conversation, workflow.GetInfo(ctx).WorkflowExecution.ID)))
			defer span.End()
		}
	}
	return w.Next.HandleSignal(ctx, in)
}

// readHeader adds the traces in the current header to those of the run.
func (w *workflowInbound) readHeader(ctx workflow.Context) {
	payload := interceptor.WorkflowHeader(ctx)[tracesHeader]
	if payload == nil {
		return
	}
	var traces []MessageTrace
	if err := converter.GetDefaultDataConverter().FromPayload(payload, &traces); err != nil {
		return // written by another version
	}
	for _, m := range traces {
		w.traces = slices.DeleteFunc(w.traces, func(k MessageTrace) bool { return k.TS == m.TS })
		w.traces = append(w.traces, m)
	}
	w.traces = w.traces[max(0, len(w.traces)-maxTraces):]
}

// workflowOutbound intercepts the calls of a workflow.
type workflowOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	inbound *workflowInbound
}

// messageInput is an activity input that names the message it is about.
type messageInput interface {
	// Subject returns the message's ts.
	Subject() string
}

// subject returns the ts of the message that an activity's arguments are about, or "".
func subject(args []any) string {
	if len(args) > 0 {
		if in, ok := args[0].(messageInput); ok {
			return in.Subject()
		}
	}
	return ""
}

// ExecuteActivity makes the activity continue its message's trace.
func (w *workflowOutbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	w.setParent(ctx, args)
	return w.Next.ExecuteActivity(ctx, name, args...)
}

// ExecuteLocalActivity makes the activity continue its message's trace.
func (w *workflowOutbound) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	w.setParent(ctx, args)
	return w.Next.ExecuteLocalActivity(ctx, name, args...)
}

// setParent writes the parent span of an activity into the header.
func (w *workflowOutbound) setParent(ctx workflow.Context, args []any) {
	if ts := subject(args); ts != "" {
		if i := slices.IndexFunc(w.inbound.traces, func(k MessageTrace) bool { return k.TS == ts }); i >= 0 {
			if payload, err := converter.GetDefaultDataConverter().
				ToPayload(map[string]string{"traceparent": w.inbound.traces[i].Traceparent}); err == nil {
				interceptor.WorkflowHeader(ctx)[sdkHeader] = payload
			}
		}
	}
}

// NewContinueAsNewError passes the run's traces on to the next run.
func (w *workflowOutbound) NewContinueAsNewError(ctx workflow.Context, fn any, args ...any) error {
	if len(w.inbound.traces) > 0 {
		if payload, err := converter.GetDefaultDataConverter().ToPayload(w.inbound.traces); err == nil {
			interceptor.WorkflowHeader(ctx)[tracesHeader] = payload
		}
	}
	return w.Next.NewContinueAsNewError(ctx, fn, args...)
}
