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

// NewLogHandler adds context to each log line: the attributes of WithLogAttrs, the trace and
// span ids, and the conversation where the SDK logs only a workflow id.
func NewLogHandler(next slog.Handler) slog.Handler { return &handler{next: next} }

type handler struct {
	next slog.Handler
	keys []string // set by WithAttrs, and not to be repeated
}

// logAttrsKey is the context's key of WithLogAttrs.
type logAttrsKey struct{}

// WithLogAttrs adds attributes to every line that is logged with the context. An attribute of
// the line itself wins over one with the same key.
func WithLogAttrs(ctx context.Context, more ...slog.Attr) context.Context {
	all, _ := ctx.Value(logAttrsKey{}).([]slog.Attr)
	return context.WithValue(ctx, logAttrsKey{}, append(slices.Clip(all), more...))
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle adds the attributes that the line does not have.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	keys := h.keys
	add := make([]slog.Attr, 0, 4)
	r.Attrs(func(a slog.Attr) bool {
		keys = append(slices.Clip(keys), a.Key)
		if c, ok := conversationOf(a); ok {
			add = append(add, c)
		}
		return true
	})
	all, _ := ctx.Value(logAttrsKey{}).([]slog.Attr)
	add = append(add, all...)
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		add = append(add, slog.String("trace_id", span.TraceID().String()),
			slog.String("span_id", span.SpanID().String()))
	}
	for i := range add {
		// The attribute that was added last wins.
		if a := add[i]; !slices.Contains(keys, a.Key) &&
			!slices.ContainsFunc(add[i+1:], func(b slog.Attr) bool { return b.Key == a.Key }) {
			r.AddAttrs(a)
		}
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	keys := slices.Clone(h.keys)
	all := attrs
	for _, a := range attrs {
		keys = append(keys, a.Key)
	}
	for _, a := range attrs {
		if c, ok := conversationOf(a); ok && !slices.Contains(keys, c.Key) {
			all, keys = append(slices.Clone(all), c), append(keys, c.Key)
		}
	}
	return &handler{next: h.next.WithAttrs(all), keys: keys}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{next: h.next.WithGroup(name), keys: h.keys}
}

// conversationOf returns the conversation attribute for the SDK's workflow id, if it is that of
// a conversation.
func conversationOf(a slog.Attr) (slog.Attr, bool) {
	if a.Key != "WorkflowID" {
		return slog.Attr{}, false
	}
	return conversationAttr(a.Value.String())
}

func conversationAttr(workflow string) (slog.Attr, bool) {
	if _, err := chat.ParseConversation(workflow); err != nil {
		return slog.Attr{}, false
	}
	return slog.String("conversation", workflow), true
}

// logInterceptor adds the conversation and the message to the log lines of activities.
type logInterceptor struct{ interceptor.InterceptorBase }

// InterceptActivity intercepts each attempt.
func (*logInterceptor) InterceptActivity(_ context.Context,
	next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	a := &activityInbound{}
	a.Next = next
	return a
}

type activityInbound struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity adds the attributes to the context.
func (a *activityInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	var attrs []slog.Attr
	if c, ok := conversationAttr(activity.GetInfo(ctx).WorkflowExecution.ID); ok {
		attrs = append(attrs, c)
	}
	if ts := subject(in.Args); ts != "" {
		attrs = append(attrs, slog.String("trigger", ts))
	}
	return a.Next.ExecuteActivity(WithLogAttrs(ctx, attrs...), in)
}
