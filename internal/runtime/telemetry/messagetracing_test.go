package telemetry

import (
	"context"
	"errors"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// task is an activity input that names its message.
type task struct{ TS string }

func (t task) Subject() string { return t.TS }

// A run that continues another one has its traces, makes each activity continue its message's
// trace, and passes the traces on.
func TestMessageTracesSurviveContinueAsNew(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("test")
	tracing, err := NewMessageTracing(tracer)
	if err != nil {
		t.Fatal(err)
	}
	var known []MessageTrace
	for _, ts := range []string{"1.000000", "2.000000"} {
		ctx, span := tracer.Start(context.Background(), "request "+ts)
		span.End()
		known = append(known, MessageTrace{TS: ts, Traceparent: Traceparent(ctx)})
	}
	payload, err := converter.GetDefaultDataConverter().ToPayload(known)
	if err != nil {
		t.Fatal(err)
	}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute) // this and the next limit are of real time, and the machine may be busy
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{tracing}, DeadlockDetectionTimeout: time.Minute})
	env.SetHeader(&commonpb.Header{Fields: map[string]*commonpb.Payload{tracesHeader: payload}})
	parents := map[string]string{}
	env.RegisterActivityWithOptions(func(ctx context.Context, in task) error {
		parents[in.TS] = Traceparent(ctx)
		return nil
	}, activity.RegisterOptions{Name: "Do"})
	flow := func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		for _, ts := range []string{"2.000000", "1.000000", "3.000000"} {
			if err := workflow.ExecuteActivity(ctx, "Do", task{ts}).Get(ctx, nil); err != nil {
				return err
			}
		}
		return workflow.NewContinueAsNewError(ctx, "Flow")
	}
	env.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: "Flow"})
	env.ExecuteWorkflow("Flow")

	for _, k := range known {
		if got := spanContext(parents[k.TS]); got.TraceID() != spanContext(k.Traceparent).TraceID() {
			t.Errorf("the activity about %s has the parent %s, want the trace of %s", k.TS, parents[k.TS], k.Traceparent)
		}
	}
	if got := spanContext(parents["3.000000"]).TraceID(); got == spanContext(known[0].Traceparent).TraceID() || got == spanContext(known[1].Traceparent).TraceID() {
		t.Error("the activity about a message without a trace is in another message's trace")
	}
	var next *workflow.ContinueAsNewError
	if !errors.As(env.GetWorkflowError(), &next) {
		t.Fatal(env.GetWorkflowError())
	}
	var passed []MessageTrace
	if err := converter.GetDefaultDataConverter().FromPayload(next.Header.GetFields()[tracesHeader], &passed); err != nil || len(passed) != 2 || passed[0] != known[0] || passed[1] != known[1] {
		t.Errorf("passed on %+v, %v; want %+v", passed, err, known)
	}
}
