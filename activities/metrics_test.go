package activities

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Each verdict starts at zero, because Prometheus sees no increase in a series that starts at one.
func TestMetricsStartAtZero(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	NewMetrics(registry)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if f.GetName() != "myao_judgments_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			got = append(got, m.GetLabel()[0].GetValue())
		}
	}
	want := []string{
		"failed", "no", "rule:addresses_other", "rule:bot_budget", "rule:lapsed", "rule:low_confidence", "rule:mode_mention", "rule:mode_off", "rule:nothing_left",
		"rule:over_budget", "rule:quiet_hours", "rule:second_look", "rule:silenced", "rule:spoke_last", "rule:stopped", "rule:too_old", "yes",
	}
	if !slices.Equal(got, want) {
		t.Errorf("verdicts\n got %q\nwant %q", got, want)
	}
}
