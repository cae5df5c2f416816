package store

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"gorm.io/gorm"

	"myao/internal/conversation"
)

// outcomes are all outcomes of decisions.
var outcomes = []conversation.Outcome{
	conversation.Silent, conversation.OutcomePosted, conversation.Withdrawn, conversation.Dropped,
	conversation.Overruled, conversation.OutcomeFailed,
}

// ends are the states in which nothing more comes of a proposal.
var ends = []ProposalState{
	ProposalDone, ProposalFailed, ProposalUnknown, ProposalDeclined, ProposalCancelled, ProposalLapsed,
	ProposalWithdrawn,
}

// Metrics counts database statements, and the outcomes of decisions, proposals and promises. A nil Metrics
// counts nothing.
type Metrics struct {
	registry   prometheus.Registerer
	statements *prometheus.HistogramVec
	refusals   *prometheus.CounterVec
	settled    *prometheus.CounterVec
	ended      *prometheus.CounterVec
	promises   *prometheus.CounterVec
}

// NewMetrics registers the database's metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		registry: r,
		statements: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "myao_database_statement_duration_seconds",
			Help: "Time that statements took, by what they do (create, query, update, delete, row, raw, commit; " +
				"begin where that fails) and their result (ok, error).",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"operation", "result"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_database_refusals_total",
			Help: "Statements that failed, by reason: full (no room on the disk), io (the disk fails; SQLite also " +
				"says that where there is no room), read_only (a standby, say), other.",
		}, []string{"reason"}),
		settled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_decisions_settled_total",
			Help: "Decisions by what became of them: silent, posted, withdrawn, dropped, overruled, failed.",
		}, []string{"outcome"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_proposals_ended_total",
			Help: "Proposals by what became of them: done, failed, unknown, declined, cancelled, lapsed, withdrawn.",
		}, []string{"outcome"}),
		promises: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_promises_ended_total",
			Help: "Promises by what became of them, one that repeats each time: kept, released, withdrawn, " +
				"cancelled, failed.",
		}, []string{"outcome"}),
	}
	for _, outcome := range outcomes {
		m.settled.WithLabelValues(string(outcome))
	}
	for _, end := range ends {
		m.ended.WithLabelValues(string(end))
	}
	for _, end := range promiseEnds {
		m.promises.WithLabelValues(string(end))
	}
	for _, operation := range []string{"create", "query", "update", "delete", "row", "raw", "begin", "commit"} {
		m.statements.WithLabelValues(operation, "error") // so that it starts at zero instead of absent
	}
	for _, reason := range []string{refusedFull, refusedIO, refusedReadOnly, refusedOther} {
		m.refusals.WithLabelValues(reason)
	}
	r.MustRegister(m.statements, m.refusals, m.settled, m.ended, m.promises)
	return m
}

// settle counts decisions that got their outcome.
func (m *Metrics) settle(outcome conversation.Outcome, rows int64) {
	if m != nil {
		m.settled.WithLabelValues(string(outcome)).Add(float64(rows))
	}
}

// end counts proposals that have ended; any other state counts nothing.
func (m *Metrics) end(state ProposalState, rows int64) {
	if m != nil && state.Ended() {
		m.ended.WithLabelValues(string(state)).Add(float64(rows))
	}
}

// endPromise counts promises that have ended, or that repeat and had a time that has.
func (m *Metrics) endPromise(state PromiseState, rows int64) {
	if m != nil {
		m.promises.WithLabelValues(string(state)).Add(float64(rows))
	}
}

// statement counts a statement, with its duration and result.
func (m *Metrics) statement(operation string, err error, took time.Duration) {
	if m == nil {
		return
	}
	result := "ok"
	// An existing key and an empty result are answers, not failures.
	if err != nil && !errors.Is(err, gorm.ErrDuplicatedKey) && !errors.Is(err, gorm.ErrRecordNotFound) {
		result = "error"
		m.refusals.WithLabelValues(refusal(err)).Inc()
	}
	m.statements.WithLabelValues(operation, result).Observe(took.Seconds())
}

// Measure counts all statements from now on. Call it before the store is used.
func (s *Store) Measure(m *Metrics) error {
	if m == nil {
		return nil
	}
	s.metrics = m
	callbacks, errs := s.db.Callback(), []error{m.registry.Register(collectors.NewDBStatsCollector(s.pool, "myao"))}
	for operation, c := range map[string]struct{ before, after hook }{
		"create": {callbacks.Create().Before("*"), callbacks.Create().After("*")},
		"query":  {callbacks.Query().Before("*"), callbacks.Query().After("*")},
		"update": {callbacks.Update().Before("*"), callbacks.Update().After("*")},
		"delete": {callbacks.Delete().Before("*"), callbacks.Delete().After("*")},
		"row":    {callbacks.Row().Before("*"), callbacks.Row().After("*")},
		"raw":    {callbacks.Raw().Before("*"), callbacks.Raw().After("*")},
	} {
		errs = append(errs, c.before.Register("myao:begin", s.begin), c.after.Register("myao:end", s.end(operation)))
	}
	return errors.Join(errs...)
}

// hook is a place where gorm lets a callback be registered.
type hook interface {
	Register(name string, f func(*gorm.DB)) error
}

const begun = "myao:begun"

func (s *Store) begin(db *gorm.DB) { db.InstanceSet(begun, s.now()) }

func (s *Store) end(operation string) func(*gorm.DB) {
	return func(db *gorm.DB) {
		at, _ := db.InstanceGet(begun)
		began, ok := at.(time.Time)
		if !ok {
			return
		}
		s.metrics.statement(operation, db.Error, s.now().Sub(began))
	}
}
