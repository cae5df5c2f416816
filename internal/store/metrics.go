package store

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"gorm.io/gorm"

	"myao/internal/conversation"
)

// outcomes are what becomes of decisions.
var outcomes = []conversation.Outcome{
	conversation.Silent, conversation.Sent, conversation.Withdrawn, conversation.Dropped, conversation.Overruled, conversation.Unsent,
}

// Metrics counts what a database is asked, and what becomes of decisions. A nil one
// counts nothing.
type Metrics struct {
	registry   prometheus.Registerer
	statements *prometheus.HistogramVec
	settled    *prometheus.CounterVec
}

// NewMetrics registers the database's metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		registry: r,
		statements: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "myao_database_statement_seconds", Help: "Time that statements took, by what they do (create, query, update, delete, row, raw, commit; begin where that fails) and their result (ok, error).",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"operation", "result"}),
		settled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_decisions_settled_total", Help: "Decisions by what became of them: silent, posted, withdrawn, dropped, overruled, failed.",
		}, []string{"outcome"}),
	}
	for _, outcome := range outcomes {
		m.settled.WithLabelValues(string(outcome))
	}
	for _, operation := range []string{"create", "query", "update", "delete", "row", "raw", "begin", "commit"} {
		m.statements.WithLabelValues(operation, "error") // zero, and not unknown
	}
	r.MustRegister(m.statements, m.settled)
	return m
}

// settle counts a row of the ledger that has got its outcome.
func (m *Metrics) settle(outcome conversation.Outcome, rows int64) {
	if m != nil {
		m.settled.WithLabelValues(string(outcome)).Add(float64(rows))
	}
}

// statement counts a statement that has taken so long, and its result.
func (m *Metrics) statement(operation string, err error, took time.Duration) {
	if m == nil {
		return
	}
	result := "ok"
	// A key that is there already is an answer, and so is that nothing was found.
	if err != nil && !errors.Is(err, gorm.ErrDuplicatedKey) && !errors.Is(err, gorm.ErrRecordNotFound) {
		result = "error"
	}
	m.statements.WithLabelValues(operation, result).Observe(took.Seconds())
}

// Measure has all that the database is asked counted, from now on. It is for a store
// that nobody uses yet.
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

// hook is one of gorm's places to be called.
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
