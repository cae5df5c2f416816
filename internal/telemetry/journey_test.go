package telemetry

import (
	"context"
	"errors"
	"testing"

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

// task is an activity's input that says what it is about.
type task struct{ TS string }

func (t task) Subject() string { return t.TS }

// A run that goes on from another one knows the traces of messages, has each activity go
// on in its message's, and hands them on in its turn.
func TestJourneyOutlivesARun(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("test")
	journey, err := NewMessageTracing(tracer)
	if err != nil {
		t.Fatal(err)
	}
	var known []stage
	for _, ts := range []string{"1.000000", "2.000000"} {
		ctx, span := tracer.Start(context.Background(), "request "+ts)
		span.End()
		known = append(known, stage{TS: ts, Trace: Traceparent(ctx)})
	}
	payload, err := converter.GetDefaultDataConverter().ToPayload(known)
	if err != nil {
		t.Fatal(err)
	}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{journey}})
	env.SetHeader(&commonpb.Header{Fields: map[string]*commonpb.Payload{travelKey: payload}})
	places := map[string]string{}
	env.RegisterActivityWithOptions(func(ctx context.Context, in task) error {
		places[in.TS] = Traceparent(ctx)
		return nil
	}, activity.RegisterOptions{Name: "Do"})
	flow := func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 1e9})
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
		if got := spanContext(places[k.TS]); got.TraceID() != spanContext(k.Trace).TraceID() {
			t.Errorf("the activity about %s is at %s, want the trace of %s", k.TS, places[k.TS], k.Trace)
		}
	}
	if got := spanContext(places["3.000000"]).TraceID(); got == spanContext(known[0].Trace).TraceID() || got == spanContext(known[1].Trace).TraceID() {
		t.Error("the activity about a message of unknown trace is in another message's")
	}
	var next *workflow.ContinueAsNewError
	if !errors.As(env.GetWorkflowError(), &next) {
		t.Fatal(env.GetWorkflowError())
	}
	var handed []stage
	if err := converter.GetDefaultDataConverter().FromPayload(next.Header.GetFields()[travelKey], &handed); err != nil || len(handed) != 2 || handed[0] != known[0] || handed[1] != known[1] {
		t.Errorf("handed on: %+v, %v; want %+v", handed, err, known)
	}
}
