package ingest

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// What has yet to happen for the first time is zero: Prometheus sees no increase in a
// series that begins at one.
func TestWhatIsKnownIsZeroFromTheStart(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	NewMetrics(registry)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{} // by metric, the values of its labels in the order of their names
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
			"/slack/commands 400 ", "/slack/commands 401 ", "/slack/commands 413 ", "/slack/events 400 ", "/slack/events 401 ",
			"/slack/events 413 ", "/slack/interactions 400 ", "/slack/interactions 401 ", "/slack/interactions 413 ",
		},
		"myao_slack_orders_total": {
			"answer_now done ", "answer_now failed ", "answer_now refused ", "forget done ", "forget failed ", "forget refused ",
			"help done ", "help unknown ", "hush done ", "hush refused ", "mute done ", "mute failed ", "mute refused ",
			"snooze done ", "snooze failed ", "snooze refused ", "status done ", "status failed ", "status refused ",
			"unmute done ", "unmute failed ", "unmute refused ", "why done ", "why failed ", "why refused ",
		},
	} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s\n got %q\nwant %q", name, got[name], want)
		}
	}
}
