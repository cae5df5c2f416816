package store

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"gorm.io/gorm"

	"myao/test/testserver"
)

// An outcome is counted once, however often it is written.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite:"+filepath.Join(t.TempDir(), "myao.db"))
	registry := prometheus.NewRegistry()
	must(t, errOf(s.Migrate(t.Context())))
	must(t, s.Measure(NewMetrics(registry)))
	ctx := t.Context()
	for range 2 {
		for _, d := range []Decision{
			{Key: "a", WorkflowID: "w", Source: "rule", Outcome: "silent"},
			{Key: "b", WorkflowID: "w", Source: "addressed", Outcome: "pending"},
		} {
			must(t, s.Decide(ctx, d))
		}
		must(t, s.Settle(ctx, "b", "posted", "r"))
	}
	if err := s.db.WithContext(ctx).Exec("SELECT nonsense").Error; err == nil {
		t.Fatal("the database knows nonsense")
	}
	gone, cancel := context.WithCancel(ctx)
	if err := s.transaction(gone, func(*gorm.DB) error { cancel(); return nil }); err == nil {
		t.Fatal("a transaction is committed whose context has ended")
	}
	unlock := testserver.LockSQLite(t, s.sqlite)
	soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if err := s.transaction(soon, func(*gorm.DB) error { return nil }); err == nil {
		t.Fatal("a transaction begins while the file is locked")
	}
	_ = unlock()
	if err := s.transaction(ctx, func(*gorm.DB) error { return errors.New("no") }); err == nil {
		t.Fatal("a transaction is committed that was given up")
	}
	for key, want := range map[string]float64{
		"myao_decisions_settled_total silent": 1, "myao_decisions_settled_total posted": 1, "myao_decisions_settled_total failed": 0,
		"myao_proposals_ended_total lapsed": 0, "myao_proposals_ended_total unknown": 0,
		"myao_database_statement_duration_seconds create ok": 4, "myao_database_statement_duration_seconds update ok": 2, "myao_database_statement_duration_seconds raw error": 1,
		"myao_database_statement_duration_seconds commit error": 1, "myao_database_statement_duration_seconds begin error": 1,
	} {
		name, labels, _ := strings.Cut(key, " ")
		if n, ok := counted(t, registry, name)[labels]; !ok || n != want {
			t.Errorf("%s: %v (%v), want %v", key, n, ok, want)
		}
	}
}

// counted is what a counter or a histogram has counted, by the values of its labels.
func counted(t *testing.T, registry *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() != name {
				continue
			}
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			got[strings.Join(labels, " ")] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return got
}
