package telemetry

import (
	"context"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"myao/internal/chat"
)

// NewLogHandler has each line say where it belongs: what With has put into its context, the
// trace and span that it was written in, and the conversation where the SDK says only
// whose workflow it is.
func NewLogHandler(next slog.Handler) slog.Handler { return &handler{next: next} }

type handler struct {
	next slog.Handler
	said []string // by With: the keys that need not be said again
}

type attributes struct{}

// WithLogAttrs has every line that is logged with the context say more. A line that says the
// same key by itself says it once.
func WithLogAttrs(ctx context.Context, more ...slog.Attr) context.Context {
	all, _ := ctx.Value(attributes{}).([]slog.Attr)
	return context.WithValue(ctx, attributes{}, append(slices.Clip(all), more...))
}

// Enabled is the next one's.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle adds to a line what it does not say.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	said := h.said
	add := make([]slog.Attr, 0, 4)
	r.Attrs(func(a slog.Attr) bool {
		said = append(slices.Clip(said), a.Key)
		if c, ok := conversationOf(a); ok {
			add = append(add, c)
		}
		return true
	})
	all, _ := ctx.Value(attributes{}).([]slog.Attr)
	add = append(add, all...)
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		add = append(add, slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	for i := range add {
		// What was put into the context last is nearest to the line.
		if a := add[i]; !slices.Contains(said, a.Key) && !slices.ContainsFunc(add[i+1:], func(b slog.Attr) bool { return b.Key == a.Key }) {
			r.AddAttrs(a)
		}
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs is for a logger that says more with each line.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	said := slices.Clone(h.said)
	all := attrs
	for _, a := range attrs {
		said = append(said, a.Key)
	}
	for _, a := range attrs {
		if c, ok := conversationOf(a); ok && !slices.Contains(said, c.Key) {
			all, said = append(slices.Clone(all), c), append(said, c.Key)
		}
	}
	return &handler{next: h.next.WithAttrs(all), said: said}
}

// WithGroup is the next one's.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{next: h.next.WithGroup(name), said: h.said}
}

// conversationOf makes a conversation of the SDK's name of a workflow, if it is one's.
func conversationOf(a slog.Attr) (slog.Attr, bool) {
	if a.Key != "WorkflowID" {
		return slog.Attr{}, false
	}
	return ofConversation(a.Value.String())
}

func ofConversation(workflow string) (slog.Attr, bool) {
	if _, err := chat.ParseConversation(workflow); err != nil {
		return slog.Attr{}, false
	}
	return slog.String("conversation", workflow), true
}

// naming has the lines of an activity say what it is about.
type naming struct{ interceptor.InterceptorBase }

// InterceptActivity stands before each attempt.
func (*naming) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	n := &named{}
	n.Next = next
	return n
}

type named struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity puts the conversation and the message into the context.
func (n *named) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	var say []slog.Attr
	if c, ok := ofConversation(activity.GetInfo(ctx).WorkflowExecution.ID); ok {
		say = append(say, c)
	}
	if ts := subject(in.Args); ts != "" {
		say = append(say, slog.String("trigger", ts))
	}
	return n.Next.ExecuteActivity(WithLogAttrs(ctx, say...), in)
}
