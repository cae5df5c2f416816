package mcp

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics measures calls. A nil Metrics measures nothing.
type Metrics struct{ calls *prometheus.HistogramVec }

// The results of a call.
const (
	resultDone        = "done"
	resultFailed      = "failed"      // the tool or its server says so
	resultUnavailable = "unavailable" // the server does not answer
)

// NewMetrics registers the metrics of calls.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "myao_mcp_call_duration_seconds",
		Help: "Calls of tools of MCP servers, by server, tool, and result: done, failed, unavailable if the " +
			"server does not answer.",
		Buckets: []float64{0.1, 0.5, 2, 10, 30},
	}, []string{"server", "tool", "result"})}
	r.MustRegister(m.calls)
	return m
}

// initialize creates the series of a tool before its first call, so that they are 0 instead of missing.
func (m *Metrics) initialize(server, tool string) {
	if m == nil {
		return
	}
	for _, result := range []string{resultDone, resultFailed, resultUnavailable} {
		m.calls.WithLabelValues(server, tool, result)
	}
}

func (m *Metrics) called(server, tool, result string, took time.Duration) {
	if m != nil {
		m.calls.WithLabelValues(server, tool, result).Observe(took.Seconds())
	}
}
