package store

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// What becomes of a decision is counted once, however often it is written down.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite:"+filepath.Join(t.TempDir(), "myao.db"))
	registry := prometheus.NewRegistry()
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Measure(NewMetrics(registry)); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for range 2 {
		for _, d := range []Decision{
			{Key: "a", WorkflowID: "w", Source: "rule", Outcome: "silent"},
			{Key: "b", WorkflowID: "w", Source: "addressed", Outcome: "pending"},
		} {
			if err := s.Decide(ctx, d); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Settle(ctx, "b", "posted", "r"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.db.WithContext(ctx).Exec("SELECT nonsense").Error; err == nil {
		t.Fatal("the database knows nonsense")
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			got[f.GetName()+" "+strings.Join(labels, " ")] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	for key, want := range map[string]float64{
		"myao_decisions_settled_total silent": 1, "myao_decisions_settled_total posted": 1, "myao_decisions_settled_total failed": 0,
		"myao_database_statement_seconds create ok": 4, "myao_database_statement_seconds update ok": 2, "myao_database_statement_seconds raw error": 1,
	} {
		if n, ok := got[key]; !ok || n != want {
			t.Errorf("%s: %v, want %v of %v", key, n, want, got)
		}
	}
}
