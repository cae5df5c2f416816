package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/api/serviceerror"

	"myao/internal/runtime/telemetry"
	"myao/internal/store"
)

// Metrics counts what is relayed.
type Metrics struct {
	relayed prometheus.Counter
	signals prometheus.Counter
	failed  *prometheus.CounterVec
}

// NewMetrics registers the metrics of the relay, and those by which the database shows whether the rest
// gets on. every is the interval of each schedule that records its runs, by its id.
func NewMetrics(r prometheus.Registerer, s *store.Store, clock func() time.Time,
	every map[string]time.Duration) *Metrics {
	m := &Metrics{
		relayed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "myao_changes_relayed_total",
			Help: "Changes of messages that a signal has carried to their conversation.",
		}),
		signals: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "myao_signals_total", Help: "Signals that Temporal has accepted; each carries the pending changes " +
				"of one conversation.",
		}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_relay_failures_total",
			Help: "Signals that Temporal did not accept, by reason: namespace (it does not exist), other; their " +
				"changes stay pending.",
		}, []string{"reason"}),
	}
	m.failed.WithLabelValues(failedNamespace)
	m.failed.WithLabelValues(failedOther)
	r.MustRegister(m.relayed, m.signals, m.failed,
		backlogGauges(s, clock), promiseGauges(s), unfinishedGauge(s, clock), runGauges(s, clock, every),
		telemetry.Gauge("myao_channels", "Channels that the bot is in; -1 when the database does not answer.",
			func(ctx context.Context) (float64, error) {
				n, err := s.CountJoined(ctx)
				return float64(n), err
			}),
		telemetry.Gauge("myao_muted_everywhere",
			"1 while somebody has muted the bot in the whole workspace, otherwise 0; -1 when the database does not "+
				"answer.",
			func(ctx context.Context) (float64, error) {
				mutes, err := s.MutedWorkspaces(ctx)
				return float64(min(len(mutes), 1)), err
			}))
	return m
}

// The reasons why Temporal does not accept a signal.
const (
	failedNamespace = "namespace"
	failedOther     = "other"
)

// fail counts a signal that Temporal did not accept.
func (m *Metrics) fail(err error) {
	reason := failedOther
	if _, gone := errors.AsType[*serviceerror.NamespaceNotFound](err); gone {
		reason = failedNamespace
	}
	m.failed.WithLabelValues(reason).Inc()
}

// backlogGauges come from one query: counting a long backlog takes a while.
func backlogGauges(s *store.Store, clock func() time.Time) prometheus.Collector {
	changes := prometheus.NewDesc("myao_backlog_changes",
		"Changes that wait to be relayed; -1 when the database does not answer.", nil, nil)
	age := prometheus.NewDesc("myao_backlog_age_seconds",
		"Age of the oldest change that waits to be relayed; -1 when the database does not answer.", nil, nil)
	return telemetry.Gauges(func(ctx context.Context, set telemetry.SetGauge) {
		waiting, seconds := -1.0, -1.0
		if count, oldest, err := s.BacklogSize(ctx); err == nil {
			waiting, seconds = float64(count), 0
			if count > 0 {
				seconds = clock().Sub(oldest).Seconds()
			}
		}
		set(changes, waiting)
		set(age, seconds)
	}, changes, age)
}

// promiseGauges are how many promises are open, and how many of these are late.
func promiseGauges(s *store.Store) prometheus.Collector {
	open := prometheus.NewDesc("myao_promises_open",
		"Promises that are open; -1 when the database does not answer.", nil, nil)
	late := prometheus.NewDesc("myao_promises_late",
		"Open promises that should have been turned to five minutes ago; -1 when the database does not answer.", nil,
		nil)
	return telemetry.Gauges(func(ctx context.Context, set telemetry.SetGauge) {
		n, err := s.CountPromises(ctx)
		if err != nil {
			n.Open, n.Late = -1, -1
		}
		set(open, float64(n.Open))
		set(late, float64(n.Late))
	}, open, late)
}

// unfinishedGauge is how long work has been waiting.
func unfinishedGauge(s *store.Store, clock func() time.Time) prometheus.Collector {
	var mu sync.Mutex
	var from time.Time // what was stored before has ended: it is not read again each time
	age := prometheus.NewDesc("myao_unfinished_age_seconds",
		"Age of the oldest work that could be finished and is not: decision, post, step; 0 if there is none, "+
			"-1 when the database does not answer.", []string{"what"}, nil)
	return telemetry.Gauges(func(ctx context.Context, set telemetry.SetGauge) {
		mu.Lock()
		defer mu.Unlock()
		oldest, err := s.Unfinished(ctx, from)
		if err == nil {
			from = oldest.From
		}
		for what, at := range map[string]time.Time{"decision": oldest.Decision, "post": oldest.Post,
			"step": oldest.Step} {
			seconds := 0.0
			switch {
			case err != nil:
				seconds = -1
			case !at.IsZero():
				seconds = max(0, clock().Sub(at).Seconds())
			}
			set(age, seconds, what)
		}
	}, age)
}

// runGauges are when schedules last ran.
func runGauges(s *store.Store, clock func() time.Time, every map[string]time.Duration) prometheus.Collector {
	age := prometheus.NewDesc("myao_schedule_run_age_seconds",
		"Time since the last run of a schedule; -1 when the database does not answer.", []string{"schedule"}, nil)
	interval := prometheus.NewDesc("myao_schedule_interval_seconds",
		"Time from one run of a schedule to the next, as it is configured.", []string{"schedule"}, nil)
	return telemetry.Gauges(func(ctx context.Context, set telemetry.SetGauge) {
		last, err := s.LastRuns(ctx)
		for schedule, period := range every {
			seconds := -1.0
			if err == nil {
				seconds = max(0, clock().Sub(last[schedule]).Seconds())
			}
			set(age, seconds, schedule)
			set(interval, period.Seconds(), schedule)
		}
	}, age, interval)
}
