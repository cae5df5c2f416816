package relay

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

// The log reports a large backlog, its progress, and its end.
func TestBacklogIsReported(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.relay(b.store)
	var log bytes.Buffer
	r.logger = slog.New(slog.NewTextHandler(&log, nil))
	now := time.Now()
	r.clock = func() time.Time { return now }
	logs := func(when string, wants ...string) {
		t.Helper()
		r.sweepOnce(b.Context())
		lines := slices.Collect(strings.Lines(log.String()))
		log.Reset()
		if len(lines) != len(wants) {
			t.Fatalf("%s: the log has %q, want %d lines", when, lines, len(wants))
		}
		for i, want := range wants {
			if !strings.Contains(lines[i], want) {
				t.Errorf("%s: the log has %s, want %s", when, lines[i], want)
			}
		}
	}
	say := func(from, to int) {
		for n := from; n < to; n++ {
			b.say(in(1), n)
		}
	}
	logs("empty")
	say(0, 100)
	logs("small")
	say(100, 101)
	logs("large, measured a moment ago")
	now = now.Add(sweepInterval)
	logs("large", `msg="backlog to be relayed" changes=101 oldest=`)
	now = now.Add(sweepInterval)
	logs("soon after")
	now = now.Add(reportInterval)
	logs("as large later", "changes=101 oldest=")
	b.drained(r, in(1))
	say(200, 205)
	now = now.Add(reportInterval)
	logs("gone", `msg="backlog relayed" changes=5`)
	now = now.Add(reportInterval)
	logs("afterwards")
}
