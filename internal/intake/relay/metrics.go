package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/api/serviceerror"

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
func NewMetrics(r prometheus.Registerer, s *store.Store, clock func() time.Time, every map[string]time.Duration) *Metrics {
	m := &Metrics{
		relayed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "myao_changes_relayed_total", Help: "Changes of messages that a signal has carried to their conversation.",
		}),
		signals: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "myao_signals_total", Help: "Signals that Temporal has accepted; each carries the pending changes of one conversation.",
		}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_relay_failures_total", Help: "Signals that Temporal did not accept, by reason: namespace (it does not exist), other; their changes stay pending.",
		}, []string{"reason"}),
	}
	m.failed.WithLabelValues(failedNamespace)
	m.failed.WithLabelValues(failedOther)
	r.MustRegister(m.relayed, m.signals, m.failed, backlog{s, clock}, promises{s}, &unfinished{store: s, clock: clock}, runs{s, clock, every},
		reading{joinedChannels, s.CountJoined}, reading{mutedEverywhere, func(ctx context.Context) (int64, error) {
			mutes, err := s.MutedWorkspaces(ctx)
			return int64(min(len(mutes), 1)), err
		}})
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

var (
	backlogChanges = prometheus.NewDesc("myao_backlog_changes",
		"Changes that wait to be relayed; -1 when the database does not answer.", nil, nil)
	backlogAge = prometheus.NewDesc("myao_backlog_age_seconds",
		"Age of the oldest change that waits to be relayed; -1 when the database does not answer.", nil, nil)
)

// backlog collects both gauges from one query: counting a long backlog takes a while.
type backlog struct {
	store *store.Store
	clock func() time.Time
}

// Describe implements prometheus.Collector.
func (b backlog) Describe(to chan<- *prometheus.Desc) {
	to <- backlogChanges
	to <- backlogAge
}

// Collect implements prometheus.Collector.
func (b backlog) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	changes, age := -1.0, -1.0
	if count, oldest, err := b.store.BacklogSize(ctx); err == nil {
		changes, age = float64(count), 0
		if count > 0 {
			age = b.clock().Sub(oldest).Seconds()
		}
	}
	to <- prometheus.MustNewConstMetric(backlogChanges, prometheus.GaugeValue, changes)
	to <- prometheus.MustNewConstMetric(backlogAge, prometheus.GaugeValue, age)
}

var mutedEverywhere = prometheus.NewDesc("myao_muted_everywhere",
	"1 while somebody has muted the bot in the whole workspace, otherwise 0; -1 when the database does not answer.", nil, nil)

// reading collects one value that is read from the database: -1 when that does not answer.
type reading struct {
	desc *prometheus.Desc
	read func(context.Context) (int64, error)
}

// Describe implements prometheus.Collector.
func (r reading) Describe(to chan<- *prometheus.Desc) { to <- r.desc }

// Collect implements prometheus.Collector.
func (r reading) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	value, err := r.read(ctx)
	if err != nil {
		value = -1
	}
	to <- prometheus.MustNewConstMetric(r.desc, prometheus.GaugeValue, float64(value))
}

var (
	openPromises = prometheus.NewDesc("myao_promises_open",
		"Promises that are open; -1 when the database does not answer.", nil, nil)
	latePromises = prometheus.NewDesc("myao_promises_late",
		"Open promises that should have been turned to five minutes ago; -1 when the database does not answer.", nil, nil)
)

// promises collects how many promises are open, and how many of these are late.
type promises struct{ store *store.Store }

// Describe implements prometheus.Collector.
func (p promises) Describe(to chan<- *prometheus.Desc) {
	to <- openPromises
	to <- latePromises
}

// Collect implements prometheus.Collector.
func (p promises) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	open, late := -1.0, -1.0
	if n, err := p.store.CountPromises(ctx); err == nil {
		open, late = float64(n.Open), float64(n.Late)
	}
	to <- prometheus.MustNewConstMetric(openPromises, prometheus.GaugeValue, open)
	to <- prometheus.MustNewConstMetric(latePromises, prometheus.GaugeValue, late)
}

var unfinishedAge = prometheus.NewDesc("myao_unfinished_age_seconds",
	"Age of the oldest work that could be finished and is not: decision, post, step; 0 if there is none, -1 when the database does not answer.", []string{"what"}, nil)

// unfinished collects how long work has been waiting.
type unfinished struct {
	store *store.Store
	clock func() time.Time

	mu   sync.Mutex
	from time.Time // what was stored before has ended: it is not read again each time
}

// Describe implements prometheus.Collector.
func (u *unfinished) Describe(to chan<- *prometheus.Desc) { to <- unfinishedAge }

// Collect implements prometheus.Collector.
func (u *unfinished) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	u.mu.Lock()
	defer u.mu.Unlock()
	oldest, err := u.store.Unfinished(ctx, u.from)
	if err == nil {
		u.from = oldest.From
	}
	for what, at := range map[string]time.Time{"decision": oldest.Decision, "post": oldest.Post, "step": oldest.Step} {
		age := 0.0
		switch {
		case err != nil:
			age = -1
		case !at.IsZero():
			age = max(0, u.clock().Sub(at).Seconds())
		}
		to <- prometheus.MustNewConstMetric(unfinishedAge, prometheus.GaugeValue, age, what)
	}
}

var (
	runAge = prometheus.NewDesc("myao_schedule_run_age_seconds",
		"Time since the last run of a schedule; -1 when the database does not answer.", []string{"schedule"}, nil)
	runInterval = prometheus.NewDesc("myao_schedule_interval_seconds",
		"Time from one run of a schedule to the next, as it is configured.", []string{"schedule"}, nil)
)

// runs collects when schedules last ran.
type runs struct {
	store *store.Store
	clock func() time.Time
	every map[string]time.Duration
}

// Describe implements prometheus.Collector.
func (r runs) Describe(to chan<- *prometheus.Desc) {
	to <- runAge
	to <- runInterval
}

// Collect implements prometheus.Collector.
func (r runs) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	last, err := r.store.LastRuns(ctx)
	for schedule, every := range r.every {
		age := -1.0
		if err == nil {
			age = max(0, r.clock().Sub(last[schedule]).Seconds())
		}
		to <- prometheus.MustNewConstMetric(runAge, prometheus.GaugeValue, age, schedule)
		to <- prometheus.MustNewConstMetric(runInterval, prometheus.GaugeValue, every.Seconds(), schedule)
	}
}

var joinedChannels = prometheus.NewDesc("myao_channels",
	"Channels that the bot is in; -1 when the database does not answer.", nil, nil)
