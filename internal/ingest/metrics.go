package ingest

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what comes to the door.
type Metrics struct {
	events   *prometheus.CounterVec
	requests *prometheus.CounterVec
}

// NewMetrics registers the door's metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_events_total", Help: "Events of Slack by what became of them: posted, edited, deleted, ignored, foreign, unusable, unreadable, failed.",
		}, []string{"result"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_requests_refused_total", Help: "Requests refused at the door, by HTTP status.",
		}, []string{"status"}),
	}
	r.MustRegister(m.events, m.requests)
	return m
}

func (m *Metrics) event(result string) { m.events.WithLabelValues(result).Inc() }

func (m *Metrics) refused(status int) { m.requests.WithLabelValues(strconv.Itoa(status)).Inc() }
