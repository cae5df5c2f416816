package agents

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/llm"
)

// Metrics count what models are asked. A process has one.
type Metrics struct {
	calls     *llm.Metrics
	fallbacks *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{llm.NewMetrics(r), prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "myao_model_fallbacks_total",
		Help: "Questions put to the fallback of an agent, because its model fails, by agent: response, judgment, " +
			"memory.",
	}, []string{"agent"})}
	r.MustRegister(m.fallbacks)
	for _, agent := range []string{llm.PurposeResponse, llm.PurposeJudgment, llm.PurposeMemory} {
		m.fallbacks.WithLabelValues(agent)
	}
	return m
}

// Measure has all calls measured. It must be called before the first question.
func (m *Models) Measure(metrics *Metrics) {
	m.each(func(purpose string, a *Agent) {
		metrics.calls.Initialize(purpose, string(a.Provider), a.Agent.Model)
		a.Model = llm.Measured(a.Model, string(a.Provider), metrics.calls, time.Now)
	})
	m.fallbacks = metrics.fallbacks
}

// Wrap puts something before all models. It must be called before the first question.
func (m *Models) Wrap(wrap func(llm.Model) llm.Model) {
	m.each(func(_ string, a *Agent) { a.Model = wrap(a.Model) })
}

// each visits all agents with the purpose of their calls, fallbacks after those that they stand in for.
func (m *Models) each(visit func(purpose string, a *Agent)) {
	visitBoth := func(purpose string, a *Agent) {
		visit(purpose, a)
		if a.Fallback != nil {
			visit(purpose, a.Fallback)
		}
	}
	visitBoth(llm.PurposeResponse, &m.ByUse.Response)
	visitBoth(llm.PurposeJudgment, &m.ByUse.Judgment)
	visitBoth(llm.PurposeMemory, &m.ByUse.Memory)
	for i := range m.Shadow {
		visitBoth(llm.PurposeShadow, &m.Shadow[i].Agent)
	}
}
