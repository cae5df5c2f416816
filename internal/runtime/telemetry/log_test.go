package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

func TestLogLinesHaveContext(t *testing.T) {
	t.Parallel()
	const thread = "thread/T1/C1/100.000001"
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	for _, test := range []struct {
		name string
		log  func(ctx context.Context, l *slog.Logger)
		want map[string]string
	}{
		{"the context", func(ctx context.Context, l *slog.Logger) {
			l.InfoContext(WithLogAttrs(ctx, slog.String("event", "Ev1")), "x")
		}, map[string]string{"event": "Ev1"}},
		{"the innermost context", func(ctx context.Context, l *slog.Logger) {
			l.InfoContext(WithLogAttrs(WithLogAttrs(ctx, slog.String("event", "Ev1")), slog.String("event", "Ev2")), "x")
		}, map[string]string{"event": "Ev2"}},
		{"the line itself", func(ctx context.Context, l *slog.Logger) {
			l.InfoContext(WithLogAttrs(ctx, slog.String("event", "Ev1")), "x", "event", "Ev2")
		}, map[string]string{"event": "Ev2"}},
		{"the logger", func(ctx context.Context, l *slog.Logger) {
			l.With("event", "Ev2").InfoContext(WithLogAttrs(ctx, slog.String("event", "Ev1")), "x")
		}, map[string]string{"event": "Ev2"}},
		{"a span", func(ctx context.Context, l *slog.Logger) {
			l.InfoContext(trace.ContextWithSpanContext(ctx, span), "x")
		}, map[string]string{"trace_id": "01000000000000000000000000000000", "span_id": "0200000000000000"}},
		{"the SDK's line", func(_ context.Context, l *slog.Logger) { l.Info("x", "WorkflowID", thread) },
			map[string]string{"WorkflowID": thread, "conversation": thread}},
		{"the SDK's logger", func(_ context.Context, l *slog.Logger) { l.With("WorkflowID", thread).Info("x") },
			map[string]string{"WorkflowID": thread, "conversation": thread}},
		{"another workflow", func(_ context.Context, l *slog.Logger) { l.Info("x", "WorkflowID", "memory") },
			map[string]string{"WorkflowID": "memory"}},
	} {
		var b bytes.Buffer
		test.log(t.Context(), slog.New(NewLogHandler(slog.NewJSONHandler(&b, nil))))
		var line map[string]string
		if err := json.Unmarshal(b.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v: %s", test.name, err, &b)
		}
		for _, key := range []string{"time", "level", "msg"} {
			delete(line, key)
		}
		for key, value := range test.want {
			if line[key] != value || strings.Count(b.String(), `"`+key+`":`) != 1 {
				t.Errorf("%s: %s, want %s=%s once", test.name, &b, key, value)
			}
		}
		if len(line) != len(test.want) {
			t.Errorf("%s: %s, want %v", test.name, &b, test.want)
		}
	}
}
