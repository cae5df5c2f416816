package document

import (
	"errors"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/chat"
	"myao/internal/slack"
)

// Metrics counts what became of files that were to be read. A nil Metrics counts nothing.
type Metrics struct{ read *prometheus.CounterVec }

// recording is the kind of files whose transcript is read. The others are those of claimed.
const recording = "recording"

// The results of reading a file.
const (
	resultRead      = "read"
	resultBeginning = "beginning" // there is more of it
	resultTooLarge  = "too_large"
	resultRefused   = "refused" // it cannot be read, and will not be
	resultFailed    = "failed"  // it may be read yet
)

// NewMetrics registers the metrics of files.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "myao_files_read_total",
		Help: "Files of Slack that models were to get, by what they are claimed to be (picture, pdf, office, text, " +
			"recording) and result: read, beginning, too_large, refused (it cannot be read), failed (it may be read yet).",
	}, []string{"kind", "result"})}
	r.MustRegister(m.read)
	for _, kind := range append(slices.Collect(maps.Keys(plural)), recording) {
		for _, result := range []string{resultRead, resultBeginning, resultTooLarge, resultRefused, resultFailed} {
			m.read.WithLabelValues(kind, result)
		}
	}
	return m
}

// count counts a file that was read, or not.
func (m *Metrics) count(f chat.File, c content, err error) {
	if m == nil {
		return
	}
	kind := claimed(slack.File{File: f})
	if f.Recording() {
		kind = recording
	}
	result := resultRead
	switch refused, final := errors.AsType[*Refused](err); {
	case final && refused.TooLarge:
		result = resultTooLarge
	case final:
		result = resultRefused
	case err != nil:
		result = resultFailed
	case c.cut:
		result = resultBeginning
	}
	m.read.WithLabelValues(kind, result).Inc()
}
