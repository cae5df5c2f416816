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
	// travelKey is the header of a signal that tells by message where its trace goes on.
	travelKey = "myao-traces"
	// sdkKey is the SDK's own header, by which an activity finds the span above it.
	sdkKey = "_tracer-data"
	// remembered is of how many messages a run knows the trace, and how many a signal tells of.
	remembered = 50
)

// MessageTrace is where a message's trace began.
type MessageTrace struct {
	// TS is the message.
	TS string
	// Traceparent is the Traceparent of the request that brought it; empty: it has none.
	Traceparent string
}

// stage is what is known of one message's trace, in a header.
type stage struct {
	TS    string `json:"ts"`
	Trace string `json:"trace"`
}

type travelling struct{}

// StartSignalSpan begins the span of a signal that takes messages to a conversation. The first of
// them that has a trace is its parent, the others are linked: each message's activities
// will go on in its own trace, those of the parent's below this span.
func StartSignalSpan(ctx context.Context, tracer trace.Tracer, conversation string, messages []MessageTrace) (context.Context, trace.Span) {
	var first trace.SpanContext
	var links []trace.Link
	var linked []trace.TraceID
	for _, m := range messages {
		from := spanContext(m.Traceparent)
		switch {
		case !from.IsValid() || slices.Contains(linked, from.TraceID()):
			continue
		case !first.IsValid():
			first = from
		case len(links) < remembered:
			links = append(links, trace.Link{SpanContext: from})
		}
		linked = append(linked, from.TraceID())
	}
	ctx, span := tracer.Start(trace.ContextWithRemoteSpanContext(ctx, first), "relay", trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithLinks(links...), trace.WithAttributes(attribute.String(Conversation, conversation), attribute.Int("myao.changes", len(messages))))
	here := span.SpanContext()
	if !here.IsValid() {
		return ctx, span // nothing is traced
	}
	var stages []stage
	for _, m := range messages[max(0, len(messages)-remembered):] {
		at := spanContext(m.Traceparent)
		if !at.IsValid() || at.TraceID() == here.TraceID() {
			at = here
		}
		stages = append(stages, stage{TS: m.TS, Trace: traceparent(at)})
	}
	return context.WithValue(ctx, travelling{}, stages), span
}

// MessageTracing has the SDK's calls traced by message, and not by run: what a run does for a
// message is a part of that message's trace, though the run began weeks ago with another
// one. It writes headers and spans and nothing else: no command of a workflow depends on it.
type MessageTracing struct {
	interceptor.InterceptorBase
	sdk    interceptor.Interceptor
	tracer trace.Tracer
}

// NewMessageTracing makes one whose spans are of a tracer.
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

// InterceptClient traces calls as the SDK does.
func (j *MessageTracing) InterceptClient(next interceptor.ClientOutboundInterceptor) interceptor.ClientOutboundInterceptor {
	c := &outgoing{bare: next}
	c.Next = j.sdk.InterceptClient(next)
	return c
}

// InterceptActivity traces attempts as the SDK does: below the span that the header names.
func (j *MessageTracing) InterceptActivity(ctx context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return j.sdk.InterceptActivity(ctx, next)
}

// InterceptWorkflow is told of signals and of activities.
func (j *MessageTracing) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	r := &run{tracer: j.tracer}
	r.Next = next
	return r
}

// outgoing is the client's calls.
type outgoing struct {
	interceptor.ClientOutboundInterceptorBase
	bare interceptor.ClientOutboundInterceptor
}

// SignalWithStartWorkflow sends along what Signal has put into the context.
func (o *outgoing) SignalWithStartWorkflow(ctx context.Context, in *interceptor.ClientSignalWithStartWorkflowInput) (client.WorkflowRun, error) {
	if stages, ok := ctx.Value(travelling{}).([]stage); ok {
		if payload, err := converter.GetDefaultDataConverter().ToPayload(stages); err == nil {
			interceptor.Header(ctx)[travelKey] = payload
		}
	}
	return o.Next.SignalWithStartWorkflow(ctx, in)
}

// CreateSchedule is not traced: its header would be that of every run for ever.
func (o *outgoing) CreateSchedule(ctx context.Context, in *interceptor.ScheduleClientCreateInput) (client.ScheduleHandle, error) {
	return o.bare.CreateSchedule(ctx, in)
}

// run is one run of a workflow. What it knows is in its history, and comes back with a replay.
type run struct {
	interceptor.WorkflowInboundInterceptorBase
	tracer trace.Tracer
	known  []stage // the newest last
}

// Init stands between the workflow and what it calls.
func (r *run) Init(next interceptor.WorkflowOutboundInterceptor) error {
	o := &calls{run: r}
	o.Next = next
	return r.Next.Init(o)
}

// ExecuteWorkflow takes over what the run before knew.
func (r *run) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	r.learn(ctx)
	return r.Next.ExecuteWorkflow(ctx, in)
}

// HandleSignal learns of new messages.
func (r *run) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	r.learn(ctx)
	if !workflow.IsReplaying(ctx) {
		var data map[string]string
		if payload := interceptor.WorkflowHeader(ctx)[sdkKey]; payload != nil {
			_ = converter.GetDefaultDataConverter().FromPayload(payload, &data)
		}
		if from := spanContext(data["traceparent"]); from.IsValid() {
			now := time.Now() // of the span, not of the workflow
			_, span := r.tracer.Start(trace.ContextWithRemoteSpanContext(context.Background(), from), "HandleSignal:"+in.SignalName,
				trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(now),
				trace.WithAttributes(attribute.String(Conversation, workflow.GetInfo(ctx).WorkflowExecution.ID)))
			defer span.End()
		}
	}
	return r.Next.HandleSignal(ctx, in)
}

// learn reads the header of what is being handled.
func (r *run) learn(ctx workflow.Context) {
	payload := interceptor.WorkflowHeader(ctx)[travelKey]
	if payload == nil {
		return
	}
	var told []stage
	if err := converter.GetDefaultDataConverter().FromPayload(payload, &told); err != nil {
		return // of another version
	}
	for _, s := range told {
		r.known = slices.DeleteFunc(r.known, func(k stage) bool { return k.TS == s.TS })
		r.known = append(r.known, s)
	}
	r.known = r.known[max(0, len(r.known)-remembered):]
}

// calls is what a workflow has done.
type calls struct {
	interceptor.WorkflowOutboundInterceptorBase
	run *run
}

// about is what an activity's input says of the message that it is about.
type about interface {
	// Subject is a ts.
	Subject() string
}

func subject(args []any) string {
	if len(args) > 0 {
		if in, ok := args[0].(about); ok {
			return in.Subject()
		}
	}
	return ""
}

// ExecuteActivity tells the activity the trace of its message.
func (c *calls) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	c.direct(ctx, args)
	return c.Next.ExecuteActivity(ctx, name, args...)
}

// ExecuteLocalActivity does the same.
func (c *calls) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	c.direct(ctx, args)
	return c.Next.ExecuteLocalActivity(ctx, name, args...)
}

// direct writes into the header of what is called where the trace of its message goes on.
func (c *calls) direct(ctx workflow.Context, args []any) {
	if ts := subject(args); ts != "" {
		if i := slices.IndexFunc(c.run.known, func(k stage) bool { return k.TS == ts }); i >= 0 {
			if payload, err := converter.GetDefaultDataConverter().ToPayload(map[string]string{"traceparent": c.run.known[i].Trace}); err == nil {
				interceptor.WorkflowHeader(ctx)[sdkKey] = payload
			}
		}
	}
}

// NewContinueAsNewError hands on what the run knows.
func (c *calls) NewContinueAsNewError(ctx workflow.Context, fn any, args ...any) error {
	if len(c.run.known) > 0 {
		if payload, err := converter.GetDefaultDataConverter().ToPayload(c.run.known); err == nil {
			interceptor.WorkflowHeader(ctx)[travelKey] = payload
		}
	}
	return c.Next.NewContinueAsNewError(ctx, fn, args...)
}
