package mind

import (
	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/llm"
)

// Measure has all that models are asked counted and traced, from now on. It is for a mind
// that nobody uses yet.
func (m *Mind) Measure(r prometheus.Registerer) {
	metrics := llm.NewMetrics(r)
	for purpose, a := range map[string]*Agent{
		llm.PurposeResponse: &m.Agents.Response, llm.PurposeJudgment: &m.Agents.Judgment, llm.PurposeMemory: &m.Agents.Memory,
	} {
		metrics.Expect(purpose, string(a.Provider), a.Agent.Model)
		a.Model = llm.Measured(a.Model, string(a.Provider), metrics, m.Clock)
	}
}
