package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace/noop"
)

func TestTracesConfigured(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		env  string
		want bool
	}{
		{"", false},
		{"OTEL_SERVICE_NAME=x", false},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318", true},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://collector:4318/v1/traces", true},
		{"OTEL_TRACES_EXPORTER=otlp", true},
		{"OTEL_TRACES_EXPORTER=none OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318", false},
		{"OTEL_SDK_DISABLED=TRUE OTEL_TRACES_EXPORTER=otlp", false},
		{"OTEL_SDK_DISABLED=false OTEL_TRACES_EXPORTER=otlp", true},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=", false},
	} {
		env := map[string]string{}
		for _, v := range strings.Fields(test.env) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		got := tracesConfigured(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if got != test.want {
			t.Errorf("%q: %v", test.env, got)
		}
	}
}

// A variable that cannot be parsed may still hold a secret.
func TestValuesOfVariablesAreNotLogged(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:pass%zzword@127.0.0.1:1/")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Bearer password,x=%zzpassword")
	var log bytes.Buffer
	all, err := Open(t.Context(), Options{Program: "worker", Lookup: os.LookupEnv, Clock: time.Now, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := all.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if lines := log.String(); strings.Contains(lines, "word") || !strings.Contains(lines, "parse headers") || !strings.Contains(lines, "parse url") {
		t.Errorf("log: %s", lines)
	}
}

// broken is an exporter that fails.
type broken struct{ sdktrace.SpanExporter }

func (broken) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("nobody there")
}

func TestAFailingExporterIsLoggedNowAndThen(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	now := time.Unix(1000, 0)
	p := &quietExporter{SpanExporter: broken{}, clock: func() time.Time { return now }, logger: slog.New(slog.NewTextHandler(&log, nil))}
	spans := tracetest.SpanStubs{{Name: "a"}, {Name: "b"}}.Snapshots()
	for _, after := range []time.Duration{0, time.Second, warnInterval - 2*time.Second, time.Second} {
		now = now.Add(after)
		if err := p.ExportSpans(t.Context(), spans); err != nil {
			t.Error(err)
		}
	}
	if lines := log.String(); strings.Count(lines, "\n") != 2 || !strings.Contains(lines, "spans=2") || !strings.Contains(lines, "spans=6") {
		t.Errorf("log: %s", lines)
	}
}

// Each message of a signal continues its own trace, and those of the parent's trace continue
// below the signal's span.
func TestStartSignalSpan(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("test")
	request := func() string {
		ctx, span := tracer.Start(context.Background(), "request")
		defer span.End()
		return Traceparent(ctx)
	}
	a, b := request(), request()
	ctx, span := StartSignalSpan(t.Context(), tracer, "thread/T1/C1/1.000000", []MessageTrace{{"1.000000", ""}, {"2.000000", a}, {"3.000000", b}, {"4.000000", a}})
	here := Traceparent(ctx)
	span.End()
	traces, _ := ctx.Value(contextKey{}).([]MessageTrace)
	want := []MessageTrace{{"1.000000", here}, {"2.000000", here}, {"3.000000", b}, {"4.000000", here}}
	if len(traces) != len(want) {
		t.Fatalf("%+v, want %+v", traces, want)
	}
	for i := range want {
		if traces[i] != want[i] {
			t.Errorf("%+v, want %+v", traces[i], want[i])
		}
	}
	spans := exporter.GetSpans()
	relay := spans[len(spans)-1]
	if traceparent(relay.Parent) != a || len(relay.Links) != 1 || traceparent(relay.Links[0].SpanContext) != b {
		t.Errorf("parent %s, want %s; links %+v, want %s", traceparent(relay.Parent), a, relay.Links, b)
	}
	if ctx, _ := StartSignalSpan(t.Context(), noop.Tracer{}, "", []MessageTrace{{"1.000000", ""}}); ctx.Value(contextKey{}) != nil {
		t.Error("without tracing the context carries traces")
	}
}
