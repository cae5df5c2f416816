package mind

import (
	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/llm"
)

// Measure counts and traces all calls of models from now on. It must be called before the first
// question.
func (m *Mind) Measure(r prometheus.Registerer) {
	metrics := llm.NewMetrics(r)
	for purpose, a := range map[string]*Agent{
		llm.PurposeResponse: &m.Agents.Response, llm.PurposeJudgment: &m.Agents.Judgment, llm.PurposeMemory: &m.Agents.Memory,
	} {
		metrics.Initialize(purpose, string(a.Provider), a.Agent.Model)
		a.Model = llm.Measured(a.Model, string(a.Provider), metrics, m.Clock)
	}
}
