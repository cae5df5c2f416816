package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// speaking is a model with one fixed answer.
type speaking struct {
	res Response
	err error
}

func (a speaking) Generate(context.Context, Request) (Response, error) { return a.res, a.err }

// Metrics and spans of a call hold no text of the prompt or the answer.
func TestMeasured(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("test")
	registry := prometheus.NewRegistry()
	metrics := NewMetrics(registry)
	now := time.Unix(0, 0)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	ctx, above := tracer.Start(t.Context(), "above")
	for _, m := range []speaking{
		{res: Response{Text: "zebrafish", Usage: Usage{Input: 7, Output: 3}, Model: "test-001"}},
		{res: Response{Turn: &Turn{Text: "zebrafish", Calls: []Call{{Input: json.RawMessage("zebrafish")}, {}}}}},
		{err: &Error{Kind: ErrRateLimited, Provider: "gemini", Message: "zebrafish"}},
	} {
		_, _ = Measured(m, "gemini", metrics, clock).Generate(ctx, Request{Purpose: PurposeJudgment, Model: "test", System: "zebrafish", Prompt: "zebrafish", MaxOutputTokens: 5,
			Tools: []Tool{{Description: "zebrafish"}}})
	}
	above.End()
	if _, err := Measured(speaking{}, "demo", metrics, clock).Generate(t.Context(), Request{Model: "test"}); err != nil {
		t.Error(err)
	}
	spans := exporter.GetSpans()
	if len(spans) != 4 {
		t.Fatalf("%d spans, want three calls and what is above them", len(spans))
	}
	said := fmt.Sprintf("%+v", spans)
	for _, want := range []string{"chat test", "gcp.gemini", "gen_ai.usage.input_tokens", "test-001", "rate_limited", "myao.tool_calls"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	if spans[0].Parent.SpanID() != above.SpanContext().SpanID() {
		t.Error("a call is not below what asked for it")
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := f.GetName()
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			counted[key] = m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
		}
	}
	for key, want := range map[string]float64{ // labels in the order of their names
		"myao_model_tokens_total input test gemini judgment": 7, "myao_model_tokens_total output test gemini judgment": 3,
		"myao_model_errors_total rate_limited test gemini judgment": 1, "myao_model_call_duration_seconds test gemini judgment": 3,
	} {
		if counted[key] != want {
			t.Errorf("%s: %v, want %v of %v", key, counted[key], want, counted)
		}
	}
	if strings.Contains(fmt.Sprint(said, counted), "zebrafish") {
		t.Errorf("what was said stands in\n%s\n%v", said, counted)
	}
}

// Initialized counters start at 0: Prometheus sees no increase in a series that begins at 1.
func TestInitializedCountersAreZero(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	NewMetrics(registry).Initialize(PurposeJudgment, "gemini", "test")
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if f.GetName() != "myao_model_errors_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "kind" {
					got = append(got, l.GetValue())
				}
			}
		}
	}
	if want := []string{"auth", "blocked", "canceled", "cut", "empty", "invalid", "other", "quota", "rate_limited", "timeout", "unavailable"}; !slices.Equal(got, want) {
		t.Errorf("kinds\n got %v\nwant %v", got, want)
	}
}
