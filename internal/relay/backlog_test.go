package relay

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

// A backlog is told of when it is large, now and then while it is there, and when it is gone.
func TestBacklogIsToldOf(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.relay(b.store)
	var log bytes.Buffer
	r.logger = slog.New(slog.NewTextHandler(&log, nil))
	now := time.Now()
	r.clock = func() time.Time { return now }
	says := func(when string, wants ...string) {
		t.Helper()
		r.sweepOnce(t.Context())
		lines := slices.Collect(strings.Lines(log.String()))
		log.Reset()
		if len(lines) != len(wants) {
			t.Fatalf("%s: it says %q, want %d lines", when, lines, len(wants))
		}
		for i, want := range wants {
			if !strings.Contains(lines[i], want) {
				t.Errorf("%s: it says %s, want %s", when, lines[i], want)
			}
		}
	}
	say := func(from, to int) {
		for n := from; n < to; n++ {
			b.say(in(1), n)
		}
	}
	says("with nothing to do")
	say(0, 100)
	says("with no more than is common")
	say(100, 101)
	says("at once again")
	now = now.Add(sweepEvery)
	says("with much", `msg="backlog to be relayed" changes=101 oldest=`)
	now = now.Add(sweepEvery)
	says("soon after")
	now = now.Add(tellEvery)
	says("with as much", "changes=101 oldest=")
	b.drained(r, in(1))
	say(200, 205)
	now = now.Add(tellEvery)
	says("when it is gone", `msg="backlog relayed" changes=5`)
	now = now.Add(tellEvery)
	says("then")
}
