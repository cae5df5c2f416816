package doctor

import (
	"testing"
	"time"

	"myao/internal/config"
	"myao/internal/store"
	"myao/test/storetest"
	"myao/test/testserver"
)

// The newest calls of a model say how it does, without asking it.
func TestModelCalls(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tc := range []struct {
		name   string
		kinds  []string // of calls, the oldest first
		took   time.Duration
		ago    time.Duration // of the newest
		status Status
		says   string
	}{
		{"none", nil, 0, 0, OK, "of 0 calls"},
		{"answers", []string{"", "", ""}, time.Second, 0, OK, "of 3 calls"},
		{"a wrong key", []string{"", "auth"}, time.Second, 0, Fail, "failed: auth → set llm.gemini.api_key"},
		{"a key that was wrong", []string{"auth", "auth", ""}, time.Second, 0, Warn, "2 of the newest 3 calls failed, most often: auth"},
		{"no money", []string{"quota"}, time.Second, 0, Fail, "pay"},
		{"an unknown model", []string{"invalid"}, time.Second, 0, Fail, "has a model of this name"},
		{"an outage", []string{"", "timeout", "unavailable", "timeout"}, time.Second, 0, Warn, "3 of the newest 4 calls failed, most often: timeout"},
		{"an outage some calls ago", []string{"timeout", "timeout", "", "", ""}, time.Second, 0, OK, ""},
		{"calls that nobody waited for", []string{"canceled", "canceled"}, time.Second, 0, OK, ""},
		{"slow", []string{"", "", ""}, time.Minute, 0, Warn, "half of the newest 3 calls took more than 1m0s"},
		{"a wrong key long ago", []string{"auth"}, time.Second, time.Hour, OK, "of 0 calls"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			c := config.Default()
			for i, kind := range tc.kinds {
				ended := now.Add(-tc.ago - time.Duration(len(tc.kinds)-i)*time.Second)
				testserver.Must(t, s.SaveCall(t.Context(), store.Call{Purpose: "judgment", Provider: "gemini", Model: c.Agents.Judgment.Model, Error: kind, Latency: tc.took, Ended: ended}))
			}
			e := &examination{Doctor: Doctor{Config: c, Clock: func() time.Time { return now }}, db: s}
			expect(t, e.calls(t.Context()), tc.status, tc.says)
		})
	}
}
