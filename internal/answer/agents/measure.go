package agents

import (
	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/llm"
)

// Measure counts and traces all calls of models from now on. It must be called before the first
// question.
func (m *Mind) Measure(r prometheus.Registerer) {
	metrics := llm.NewMetrics(r)
	measure := func(purpose string, a *Agent) {
		metrics.Initialize(purpose, string(a.Provider), a.Agent.Model)
		a.Model = llm.Measured(a.Model, string(a.Provider), metrics, m.Clock)
		if second := a.Fallback; second != nil {
			metrics.Initialize(purpose, string(second.Provider), second.Agent.Model)
			second.Model = llm.Measured(second.Model, string(second.Provider), metrics, m.Clock)
		}
	}
	m.fallbacks = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "myao_model_fallbacks_total", Help: "Questions put to the fallback of an agent, because its model fails, by agent: response, judgment, memory.",
	}, []string{"agent"})
	r.MustRegister(m.fallbacks)
	for _, agent := range []string{llm.PurposeResponse, llm.PurposeJudgment, llm.PurposeMemory} {
		m.fallbacks.WithLabelValues(agent)
	}
	measure(llm.PurposeResponse, &m.Agents.Response)
	measure(llm.PurposeJudgment, &m.Agents.Judgment)
	measure(llm.PurposeMemory, &m.Agents.Memory)
	for i := range m.Shadow {
		measure(llm.PurposeShadow, &m.Shadow[i].Agent)
	}
}
