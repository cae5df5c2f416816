package agents

import (
	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/llm"
)

// Measure counts and traces all calls of models from now on. It must be called before the first
// question.
func (ag *Agents) Measure(r prometheus.Registerer) {
	metrics := llm.NewMetrics(r)
	measure := func(purpose string, a *Agent) {
		metrics.Initialize(purpose, string(a.Provider), a.Agent.Model)
		a.Model = llm.Measured(a.Model, string(a.Provider), metrics, ag.Clock)
		if second := a.Fallback; second != nil {
			metrics.Initialize(purpose, string(second.Provider), second.Agent.Model)
			second.Model = llm.Measured(second.Model, string(second.Provider), metrics, ag.Clock)
		}
	}
	ag.fallbacks = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "myao_model_fallbacks_total",
		Help: "Questions put to the fallback of an agent, because its model fails, by agent: response, judgment, " +
			"memory.",
	}, []string{"agent"})
	r.MustRegister(ag.fallbacks)
	for _, agent := range []string{llm.PurposeResponse, llm.PurposeJudgment, llm.PurposeMemory} {
		ag.fallbacks.WithLabelValues(agent)
	}
	measure(llm.PurposeResponse, &ag.ByUse.Response)
	measure(llm.PurposeJudgment, &ag.ByUse.Judgment)
	measure(llm.PurposeMemory, &ag.ByUse.Memory)
	for i := range ag.Shadow {
		measure(llm.PurposeShadow, &ag.Shadow[i].Agent)
	}
}
