package door

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Prometheus sees no increase in a series that begins at one, so all series exist from the start, at 0.
func TestMetricsStartAtZero(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	NewMetrics(registry)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{} // metric → values of its labels, in the order of their names
	for _, f := range families {
		for _, m := range f.GetMetric() {
			values := ""
			for _, l := range m.GetLabel() {
				values += l.GetValue() + " "
			}
			got[f.GetName()] = append(got[f.GetName()], values)
		}
	}
	for name, want := range map[string][]string{
		"myao_requests_refused_total": {
			"/hooks/ forged 401 ", "/hooks/ large 413 ", "/hooks/ stale 401 ", "/hooks/ unknown 404 ", "/hooks/ unsigned 401 ",
			"/slack/commands crowded 503 ", "/slack/commands forged 401 ", "/slack/commands large 413 ", "/slack/commands repeated 401 ", "/slack/commands slow 408 ", "/slack/commands stale 401 ",
			"/slack/commands unreadable 400 ", "/slack/commands unsigned 401 ",
			"/slack/events crowded 503 ", "/slack/events forged 401 ", "/slack/events large 413 ", "/slack/events repeated 401 ", "/slack/events slow 408 ", "/slack/events stale 401 ",
			"/slack/events unreadable 400 ", "/slack/events unsigned 401 ",
			"/slack/interactions crowded 503 ", "/slack/interactions forged 401 ", "/slack/interactions large 413 ", "/slack/interactions repeated 401 ", "/slack/interactions slow 408 ", "/slack/interactions stale 401 ",
			"/slack/interactions unreadable 400 ", "/slack/interactions unsigned 401 ",
		},
		"myao_feedback_total":         {"down ", "up "},
		"myao_feedback_ignored_total": {"deleted ", "elsewhere ", "unknown ", "value "},
		"myao_slack_orders_total": {
			"answer_now done ", "answer_now failed ", "answer_now refused ",
			"approve done ", "approve failed ", "approve refused ", "cancel done ", "cancel failed ", "cancel refused ", "decline done ", "decline failed ", "decline refused ", "forget done ", "forget failed ", "forget refused ", "forget_me done ", "forget_me failed ", "forget_me refused ",
			"go done ", "go failed ", "go refused ",
			"help done ", "help unknown ", "hush done ", "hush refused ", "mute done ", "mute failed ", "mute refused ",
			"notes done ", "notes failed ", "notes refused ", "promises done ", "promises failed ", "promises refused ",
			"snooze done ", "snooze failed ", "snooze refused ", "status done ", "status failed ", "status refused ",
			"stop done ", "stop failed ", "stop refused ",
			"unmute done ", "unmute failed ", "unmute refused ", "why done ", "why failed ", "why refused ",
		},
	} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s\n got %q\nwant %q", name, got[name], want)
		}
	}
}
