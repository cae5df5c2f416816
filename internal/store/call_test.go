package store

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
)

func TestCallSummaries(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		scope := chat.Scope{Team: team, Channel: channel}
		for _, c := range []Call{
			{Decision: "d", Error: "unavailable", Latency: time.Second}, {Decision: "d", Error: "unavailable", Latency: 2 * time.Second},
			{Decision: "d", Error: "empty", Latency: 5 * time.Microsecond}, {Decision: "d", Latency: time.Hour},
			{Decision: "d", Purpose: "response", Error: "empty"}, {Decision: "e", Error: "empty"}, {Error: "timeout"},
		} {
			c.Scope, c.Purpose = scope, cmp.Or(c.Purpose, "judgment")
			must(t, db.SaveCall(t.Context(), c))
		}
		for decision, want := range map[string][]CallSummary{
			"d": {{"", 1, time.Hour}, {"empty", 1, 5 * time.Microsecond}, {"unavailable", 2, 3 * time.Second}}, "e": {{"empty", 1, 0}}, "": {}, "f": {},
		} {
			if got, err := db.CallSummaries(t.Context(), decision, "judgment"); err != nil || !slices.Equal(got, want) {
				t.Errorf("of %q: %v, %v; want %v", decision, got, err, want)
			}
		}
	})
}

func TestCheckCalls(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		if err := db.CheckCalls(t.Context()); err != nil {
			t.Error(err)
		}
		db.wantRows(t, 0, "model_calls", "TRUE")
		db.exec(t, "ALTER TABLE model_calls RENAME TO gone")
		if err := db.CheckCalls(t.Context()); err == nil {
			t.Error("calls are taken where there is no account")
		}
	})
}
