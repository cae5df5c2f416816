package activities

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/store"
)

// An answer counts from the message, or the edit, that addressed the bot; what is no answer does not count.
func TestAnswersAreTimed(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	for _, d := range []store.Decision{
		{Source: "addressed", TriggerTS: "1000.000000"}, {Source: "addressed", TriggerTS: "1000.000000", Revision: "1080.000000"},
		{Source: "judgment", TriggerTS: "1.000000"}, {Source: "promise", TriggerTS: "1.000000"}, {Source: "addressed", TriggerTS: "1.000000", Reason: occasionReason},
	} {
		m.posted(d, time.Unix(1100, 0))
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "myao_answer_duration_seconds" {
			if h := f.GetMetric()[0].GetHistogram(); h.GetSampleCount() != 2 || h.GetSampleSum() != 120 {
				t.Errorf("%d answers took %v seconds, want 2 and 120", h.GetSampleCount(), h.GetSampleSum())
			}
		}
	}
}

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
