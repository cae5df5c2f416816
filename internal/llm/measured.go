package llm

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"myao/internal/runtime/telemetry"
)

// Metrics counts the calls of models, their tokens and their errors.
type Metrics struct {
	calls  *prometheus.HistogramVec
	tokens *prometheus.CounterVec
	errors *prometheus.CounterVec
}

// NewMetrics registers the models' metrics. Their label model is the requested name.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "myao_model_call_duration_seconds",
			Help: "Time that calls of a model took, failed ones too, by purpose (response, judgment, memory, " +
				"shadow), provider and model.",
			Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 20, 40, 60, 120},
		}, []string{"purpose", "provider", "model"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_model_tokens_total", Help: "Tokens that a provider has counted, by direction: input, output.",
		}, []string{"purpose", "provider", "model", "direction"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_model_errors_total",
			Help: "Calls of a model that failed, by kind: rate_limited, quota, unavailable, invalid, auth, blocked, " +
				"cut, empty, canceled, timeout, other.",
		}, []string{"purpose", "provider", "model", "kind"}),
	}
	r.MustRegister(m.calls, m.tokens, m.errors)
	return m
}

// Initialize creates the counters of a model before its first call, so that they are 0
// instead of missing.
func (m *Metrics) Initialize(purpose, provider, model string) {
	m.calls.WithLabelValues(purpose, provider, model)
	m.tokens.WithLabelValues(purpose, provider, model, "input")
	m.tokens.WithLabelValues(purpose, provider, model, "output")
	m.errors.WithLabelValues(purpose, provider, model, otherKind)
	for _, k := range kinds {
		m.errors.WithLabelValues(purpose, provider, model, k.name)
	}
}

// Measured returns m with metrics, and with a span for each call by OpenTelemetry's
// conventions for generative AI. No span holds the text of a prompt, an answer, an input of a tool
// or an error. Each round of a reply that uses tools is a call.
func Measured(m Model, provider string, metrics *Metrics, clock func() time.Time) Model {
	return &measured{model: m, provider: provider, metrics: metrics, clock: clock}
}

type measured struct {
	model    Model
	provider string
	metrics  *Metrics
	clock    func() time.Time
}

// Generate implements Model.
func (m *measured) Generate(ctx context.Context, r Request) (Response, error) {
	ctx, span := telemetry.StartSpan(ctx, "chat "+r.Model, trace.SpanKindClient,
		attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name",
			wellKnown(m.provider)),
		attribute.String("gen_ai.request.model", r.Model), attribute.String("myao.purpose", r.Purpose))
	defer span.End()
	if r.MaxOutputTokens > 0 {
		span.SetAttributes(attribute.Int("gen_ai.request.max_tokens", r.MaxOutputTokens))
	}
	began := m.clock()
	res, err := m.model.Generate(ctx, r)
	m.metrics.calls.WithLabelValues(r.Purpose, m.provider, r.Model).Observe(m.clock().Sub(began).Seconds())
	m.metrics.tokens.WithLabelValues(r.Purpose, m.provider, r.Model, "input").Add(float64(max(0, res.Usage.Input)))
	m.metrics.tokens.WithLabelValues(r.Purpose, m.provider, r.Model, "output").Add(float64(max(0, res.Usage.Output)))
	span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", res.Usage.Input),
		attribute.Int("gen_ai.usage.output_tokens", res.Usage.Output))
	if res.Model != "" {
		span.SetAttributes(attribute.String("gen_ai.response.model", res.Model))
	}
	if len(r.Tools) > 0 {
		span.SetAttributes(attribute.Int("myao.tools", len(r.Tools)), attribute.Int("myao.round", len(r.Turns)))
	}
	if res.Turn != nil {
		span.SetAttributes(attribute.Int("myao.tool_calls", len(res.Turn.Calls)))
	}
	if err != nil {
		kind := KindOf(err)
		m.metrics.errors.WithLabelValues(r.Purpose, m.provider, r.Model, kind).Inc()
		telemetry.Fail(span, kind)
	}
	return res, err
}

// wellKnown returns a provider's name in the conventions
// (opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans).
func wellKnown(provider string) string {
	if provider == "gemini" {
		return "gcp.gemini"
	}
	return provider
}
