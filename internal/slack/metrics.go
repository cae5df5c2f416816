package slack

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics measures calls of the Web API. A nil one measures nothing.
type Metrics struct{ calls *prometheus.HistogramVec }

// NewMetrics registers the Web API's metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "myao_slack_call_duration_seconds",
		Help: "Time that calls of Slack's Web API took, by method and result: ok, rate_limited, transient, " +
			"ambiguous, final.",
		Buckets: []float64{.025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"method", "result"})}
	for _, result := range []string{"ok", string(RateLimited)} {
		m.calls.WithLabelValues("chat.postMessage", result) // so that it is 0, not absent, before the first call
	}
	r.MustRegister(m.calls)
	return m
}

// measuredTransport measures the calls of a transport.
type measuredTransport struct {
	transport
	metrics *Metrics
}

// Do makes the call.
func (t measuredTransport) Do(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := t.transport.Do(req)
	t.metrics.observe(methodOf(req), began, err)
	return resp, err
}

func (m *Metrics) observe(method string, began time.Time, err error) {
	if m == nil {
		return
	}
	result := "ok"
	if err != nil {
		result = string(classify(method, err).Kind)
	}
	m.calls.WithLabelValues(method, result).Observe(time.Since(began).Seconds())
}
