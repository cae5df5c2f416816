package workflows

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"myao/internal/runtime/telemetry"
)

// Histories without traces replay with tracing, and the replay creates no spans.
func TestRecordedHistoriesReplayTraced(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	tracing, err := telemetry.NewMessageTracing(provider.Tracer("test"))
	if err != nil {
		t.Fatal(err)
	}
	for file, h := range recorded(t) {
		r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
			// the machine may be busy
			Interceptors: []interceptor.WorkerInterceptor{tracing}, DisableDeadlockDetection: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		register(r, nil)
		if err := r.ReplayWorkflowHistory(quiet, h); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if spans := exporter.GetSpans(); len(spans) > 0 {
		t.Errorf("a replay made %d spans, the first %s", len(spans), spans[0].Name)
	}
}
